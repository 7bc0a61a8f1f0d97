//! What a change of a MachineConfig demands of the node.

use serde_json::Value;

use crate::model::Object;

/// What has to be done, at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing but to write the files.
    None,
    /// A drain and a reboot.
    Reboot,
}

/// Files that are read anew without a reboot: the pull secret, and what the container runtime reloads.
const RELOADED: [&str; 3] =
    ["/var/lib/kubelet/config.json", "/etc/containers/registries.conf", "/etc/containers/policy.json"];

/// What the way from one MachineConfig to another demands: keys of users and files that are reloaded demand nothing.
pub(super) fn action(from: &Object, to: &Object) -> Action {
    let rest = |config: &Object| {
        let mut spec = config["spec"].clone();
        if let Some(config) = spec.get_mut("config").and_then(Value::as_object_mut) {
            config.remove("passwd");
        }
        if let Some(Value::Array(files)) = spec.pointer_mut("/config/storage/files") {
            files.retain(|file| !RELOADED.iter().any(|path| file["path"] == *path));
        }
        spec
    };
    if rest(from) == rest(to) { Action::None } else { Action::Reboot }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(change: impl Fn(&mut Value)) -> Object {
        let mut config = json!({ "spec": {
            "osImageURL": "os",
            "config": {
                "passwd": { "users": [{ "name": "core" }] },
                "storage": { "files": [{ "path": "/etc/containers/registries.conf" }, { "path": "/etc/a" }] },
            },
        } });
        change(&mut config["spec"]);
        Object::new(config)
    }

    #[test]
    fn only_keys_and_what_is_reloaded_go_without_a_reboot() {
        let same = with(|_| {});
        assert_eq!(action(&same, &with(|_| {})), Action::None);
        assert_eq!(action(&same, &with(|spec| spec["config"]["passwd"] = json!({}))), Action::None);
        assert_eq!(
            action(&same, &with(|spec| spec["config"]["storage"]["files"][0]["mode"] = json!(1))),
            Action::None
        );
        assert_eq!(
            action(&same, &with(|spec| spec["config"]["storage"]["files"][1]["mode"] = json!(1))),
            Action::Reboot
        );
        assert_eq!(action(&same, &with(|spec| spec["osImageURL"] = json!("newer"))), Action::Reboot);
    }
}
