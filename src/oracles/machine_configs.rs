//! The MachineConfigs that the kubelet-config controller generates.

use std::collections::BTreeMap;

use windtunnel_core::resources::MACHINE_CONFIGS;
use windtunnel_core::{Object, View, text_of};

use super::rule::ObjectFinding;

/// The part of the names between the pool and a number (`getManagedKubeletConfigKey`).
const GENERATED: &str = "-generated-kubelet";

/// Returns the generated MachineConfigs that no KubeletConfig owns, and those that a KubeletConfig has twice for a pool.
pub(super) fn superfluous(view: &View) -> Vec<ObjectFinding> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut found = Vec::new();
    for config in view.list(&MACHINE_CONFIGS) {
        let Some(pool) = pool_of(config.name()) else { continue };
        let how = match owner(config) {
            None => "is generated, but no KubeletConfig owns it".to_owned(),
            Some(owner) => match first.insert((pool, owner), config.name()) {
                Some(other) => format!("is generated, but its KubeletConfig has {other} already"),
                None => continue,
            },
        };
        found.push(ObjectFinding::new(format!("MachineConfig/{}", config.name()), how));
    }
    found
}

/// Returns the pool in the name of a MachineConfig such as `99-worker-generated-kubelet-1`.
fn pool_of(name: &str) -> Option<&str> {
    let (pool, _) = name.strip_prefix("99-")?.split_once(GENERATED)?;
    Some(pool)
}

/// Returns the uid of the KubeletConfig that controls a MachineConfig.
fn owner(config: &Object) -> Option<&str> {
    let owners = config.list("/metadata/ownerReferences");
    owners.iter().find(|owner| owner["kind"] == "KubeletConfig").map(|owner| text_of(owner, "uid"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::{Change, ChangeKind, Object};

    use super::*;

    fn found(configs: &[(&str, &str)]) -> Vec<String> {
        let mut view = View::default();
        for (name, uid) in configs {
            let owners =
                if uid.is_empty() { json!([]) } else { json!([{ "kind": "KubeletConfig", "uid": uid }]) };
            let object: Value = json!({ "metadata": { "name": name, "ownerReferences": owners } });
            let (key, object) = (MACHINE_CONFIGS.key("", name), Object::new(object));
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        superfluous(&view).into_iter().map(|finding| format!("{}: {}", finding.object, finding.how)).collect()
    }

    #[test]
    fn a_kubelet_config_has_one_machine_config_for_each_pool() {
        let (one, other) = ("99-worker-generated-kubelet", "99-worker-generated-kubelet-1");
        assert!(found(&[(one, "a"), (other, "b"), ("99-master-generated-kubelet", "a")]).is_empty());
        assert!(
            found(&[("98-worker-generated-kubelet", ""), ("99-worker-generated-registries", "")]).is_empty()
        );
        assert_eq!(
            found(&[(one, "a"), (other, "a")]),
            [format!("MachineConfig/{other}: is generated, but its KubeletConfig has {one} already")]
        );
        assert_eq!(
            found(&[(one, "")]),
            [format!("MachineConfig/{one}: is generated, but no KubeletConfig owns it")]
        );
    }
}
