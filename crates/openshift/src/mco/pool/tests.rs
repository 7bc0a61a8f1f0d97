//! Tests of the node controller.

use serde_json::json;
use windtunnel_controllers::testing::Rig;
use windtunnel_core::resources::EVENTS;

use super::*;

const ROLE_LABEL: &str = "node-role.kubernetes.io/master";

/// A control-plane pool during an update from `a` to `b`. The first of its two nodes is being updated.
fn rig() -> Rig {
    let mut rig = Rig::new();
    for name in ["m0", "m1"] {
        let annotations = json!({ (CURRENT_CONFIG): "a", (DESIRED_CONFIG): "a", (STATE): "Done" });
        let labels = json!({ (ROLE_LABEL): "" });
        rig.put(
            &NODES,
            json!({ "metadata": { "name": name, "labels": labels, "annotations": annotations } }),
        );
    }
    let selector = json!({ "matchLabels": { (ROLE_LABEL): "" } });
    let spec = json!({ "nodeSelector": selector, "configuration": { "name": "b" } });
    rig.put(&MACHINE_CONFIG_POOLS, json!({ "metadata": { "name": "master" }, "spec": spec }));
    rig.seat(|| Box::new(NodeController::new()));
    rig.run(60);
    assert_eq!(targets(&rig), ["b", "a"]);
    rig
}

fn targets(rig: &Rig) -> [&str; 2] {
    ["m0", "m1"].map(|name| rig.view.get(&NODES, "", name).unwrap().annotation(DESIRED_CONFIG).unwrap())
}

#[test]
fn updates_the_next_node_after_the_debounce_but_publishes_annotation_changes_at_once() {
    let mut rig = rig();
    let done = json!({ "metadata": { "annotations": { (CURRENT_CONFIG): "b" } } });
    rig.write(&Write::merge_patch(&NODES, "", "m0", done));
    rig.run(4);
    let message = "Node m0 now has machineconfiguration.openshift.io/currentConfig=b";
    assert!(rig.view.list(&EVENTS).any(|event| event.text("/message") == message));
    assert_eq!(targets(&rig), ["b", "a"]);
    rig.run(2);
    assert_eq!(targets(&rig), ["b", "b"]);
}
