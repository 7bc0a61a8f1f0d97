//! Nodes: the fields of dynamic kubelet configuration, which no server has any more.

use serde_json::Value;

use super::drop_unless_used;

const CONFIG_SOURCE: (&str, &str) = ("spec", "configSource");
const CONFIG: (&str, &str) = ("status", "config");

pub(super) fn prepare_create(node: &mut Value) {
    drop_unless_used(node, None, CONFIG_SOURCE);
    drop_unless_used(node, None, CONFIG);
}

pub(super) fn prepare_update(node: &mut Value, old: &Value) {
    drop_unless_used(node, Some(old), CONFIG_SOURCE);
}

pub(super) fn prepare_status(node: &mut Value, old: &Value) {
    drop_unless_used(node, Some(old), CONFIG);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn configuration_of_the_kubelet_stays_only_where_it_is_stored() {
        let given = json!({ "spec": { "configSource": {} }, "status": { "config": { "error": "e" } } });
        let mut new = given.clone();
        prepare_create(&mut new);
        assert!(new["spec"]["configSource"].is_null() && new["status"]["config"].is_null(), "{new}");
        for (old, kept) in [(&given, true), (&new, false)] {
            let (mut object, mut status) = (given.clone(), given.clone());
            prepare_update(&mut object, old);
            prepare_status(&mut status, old);
            assert_eq!(object["spec"]["configSource"].is_object(), kept, "{old}");
            assert_eq!(status["status"]["config"].is_object(), kept, "{old}");
        }
    }
}
