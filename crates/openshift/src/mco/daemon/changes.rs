//! The actions that a MachineConfig change requires on the node.

use semver::Version;
use serde_json::Value;
use windtunnel_core::Object;

use crate::mco::RELEASE_VERSION;

/// The required action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Only the files are written.
    None,
    /// A drain and a reboot.
    Reboot,
}

/// Files that need no reboot in any release: the pull secret, and files that the container runtime reloads.
const RELOADED: [&str; 4] = [
    "/var/lib/kubelet/config.json",
    "/etc/containers/registries.conf",
    "/etc/containers/policy.json",
    "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
];

/// Files that need no reboot up to 4.16: the CA bundle for kubelets.
const RELOADED_ONCE: [&str; 1] = ["/etc/kubernetes/kubelet-ca.crt"];

/// Files that need no reboot from 4.17 on by the default node disruption policies. A directory includes its
/// contents.
const RELOADED_SINCE: [&str; 4] = [
    "/etc/mco/internal-registry-pull-secret.json",
    "/etc/containers/registries.d",
    "/etc/nmstate/openshift",
    "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
];

/// Returns whether a file needs no reboot in the release that a MachineConfig was rendered for.
fn is_reloaded(path: &str, config: &Object) -> bool {
    let version = config.annotation(RELEASE_VERSION).and_then(|version| Version::parse(version).ok());
    let has_policies = version.is_none_or(|version| (version.major, version.minor) >= (4, 17));
    let others: &[&str] = if has_policies { &RELOADED_SINCE } else { &RELOADED_ONCE };
    let is_of = |known: &&str| {
        path.strip_prefix(*known).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/', ..]))
    };
    RELOADED.iter().chain(others).any(is_of)
}

/// The action for a change from one MachineConfig to another. Changes of users and of reloaded files need no
/// reboot.
pub(super) fn action(from: &Object, to: &Object) -> Action {
    let rest = |config: &Object| {
        let mut spec = config["spec"].clone();
        if let Some(config) = spec.get_mut("config").and_then(Value::as_object_mut) {
            config.remove("passwd");
        }
        if let Some(Value::Array(files)) = spec.pointer_mut("/config/storage/files") {
            files.retain(|file| !file["path"].as_str().is_some_and(|path| is_reloaded(path, to)));
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
    fn only_changes_of_keys_and_reloaded_files_need_no_reboot() {
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

    #[test]
    fn reloaded_files_depend_on_the_release() {
        let check = |path: &str, version: &str, expected: Action| {
            let mut to = with(|spec| {
                spec["config"]["storage"]["files"].as_array_mut().unwrap().push(json!({ "path": path }));
            })
            .to_value();
            to["metadata"] = json!({ "annotations": { RELEASE_VERSION: version } });
            assert_eq!(action(&with(|_| {}), &Object::new(to)), expected, "{path} in {version}");
        };
        let (folder, key) =
            ("/etc/nmstate/openshift", "/etc/machine-config-daemon/no-reboot/containers-gpg.pub");
        for (version, known, unknown) in [
            ("4.16.3", "/etc/kubernetes/kubelet-ca.crt", "/etc/nmstate/openshift/worker-0.yml"),
            ("4.17.3", "/etc/nmstate/openshift/worker-0.yml", "/etc/kubernetes/kubelet-ca.crt"),
            ("5.0.1", "/etc/containers/registries.d/sigstore.yaml", "/etc/containers/registries.data"),
        ] {
            check(known, version, Action::None);
            check(key, version, Action::None);
            check(unknown, version, Action::Reboot);
            check(&format!("{folder}-other/a"), version, Action::Reboot);
        }
    }
}
