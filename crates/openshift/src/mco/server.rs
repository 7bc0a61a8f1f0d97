//! The machine-config server, which provides the first MachineConfig of a new machine.

use jiff::SignedDuration;
use windtunnel_controllers::machine::Disk;
use windtunnel_core::View;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, MACHINE_CONFIGS};
use windtunnel_core::rng::Streams;

use super::pace::{self, StepDurations};

/// The disk of a new machine in this pool: the pool's target once one of its nodes has it, and before that
/// its current configuration. `None` if the pool has no rendered MachineConfig.
pub fn first_disk(view: &View, pool: &str) -> Option<Disk> {
    let pool = view.get(&MACHINE_CONFIG_POOLS, "", pool)?;
    let is_proven = pool.number("/status/updatedMachineCount").is_some_and(|count| count > 0);
    let part = if is_proven { "spec" } else { "status" };
    disk(view, pool.text(&format!("/{part}/configuration/name")))
}

/// The disk of a machine with this rendered MachineConfig. `None` if it does not exist.
pub fn disk(view: &View, config: &str) -> Option<Disk> {
    let config = view.get(&MACHINE_CONFIGS, "", config)?;
    Some(Disk {
        config: config.name().to_owned(),
        os_image: config.text("/spec/osImageURL").to_owned(),
        ..Disk::default()
    })
}

/// The time from the start of a new machine to its request to the server.
pub fn first_boot(view: &View, streams: &Streams, node: &str) -> SignedDuration {
    pace::draw(*streams, &format!("joins/{node}/boot"), StepDurations::of(view).silence)
}

/// The time from the server's answer until the new machine has applied it and is running.
pub fn pivot(view: &View, streams: &Streams, node: &str) -> SignedDuration {
    let pace = StepDurations::of(view);
    let draw = |what: &str, seconds| pace::draw(*streams, &format!("joins/{node}/{what}"), seconds);
    draw("pivot", pace.apply) + draw("reboot", pace.silence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::{Change, ChangeKind, Object, Resource};

    use super::*;

    fn put(view: &mut View, resource: &Resource, object: serde_json::Value) {
        let object = Object::new(object);
        let key = resource.key("", object.name());
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
    }

    #[test]
    fn serves_the_new_config_once_a_node_has_it() {
        let mut view = View::default();
        for name in ["old", "new"] {
            let config =
                json!({ "metadata": { "name": name }, "spec": { "osImageURL": format!("os-{name}") } });
            put(&mut view, &MACHINE_CONFIGS, config);
        }
        let mut given = |status: serde_json::Value| {
            let spec = json!({ "configuration": { "name": "new" } });
            put(
                &mut view,
                &MACHINE_CONFIG_POOLS,
                json!({ "metadata": { "name": "p" }, "spec": spec, "status": status }),
            );
            first_disk(&view, "p").map(|disk| format!("{} {}", disk.config, disk.os_image))
        };
        let old = json!({ "name": "old" });
        assert_eq!(given(json!({ "configuration": old })).as_deref(), Some("old os-old"));
        assert_eq!(
            given(json!({ "configuration": old, "updatedMachineCount": 0 })).as_deref(),
            Some("old os-old")
        );
        assert_eq!(
            given(json!({ "configuration": old, "updatedMachineCount": 1 })).as_deref(),
            Some("new os-new")
        );
        assert_eq!(given(json!({})), None);
        assert_eq!(first_disk(&view, "other"), None);
    }
}
