//! Objects, a view of a cluster, and random draws that a seed repeats.

use serde_json::json;
use windtunnel_core::resources::NODES;
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Object, View};

fn main() {
    let mut view = View::default();
    for name in ["worker-0", "worker-1"] {
        let object = Object::new(json!({ "metadata": { "name": name } }));
        view.apply(&Change { key: NODES.key("", name), kind: ChangeKind::Added, object, old: None });
    }
    assert_eq!(view.list(&NODES).count(), 2);

    // A stream depends only on the seed and its own name, so another stream does not change its draws.
    let boot_seconds = |seed| Streams::new(seed).stream("boot/worker-0").between(30, 90);
    assert_eq!(boot_seconds(1), boot_seconds(1));
}
