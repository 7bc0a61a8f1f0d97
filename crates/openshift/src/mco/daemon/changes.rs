//! What a change of a MachineConfig demands of the node.

use semver::Version;
use serde_json::Value;
use windtunnel_core::Object;

use crate::mco::RELEASE_VERSION;

/// What has to be done, at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing but to write the files.
    None,
    /// A drain and a reboot.
    Reboot,
}

/// Files that are read anew without a reboot in every release: the pull secret, and what the container runtime reloads.
const RELOADED: [&str; 4] = [
    "/var/lib/kubelet/config.json",
    "/etc/containers/registries.conf",
    "/etc/containers/policy.json",
    "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
];

/// What goes without a reboot only up to 4.16: whom kubelets trust.
const RELOADED_ONCE: [&str; 1] = ["/etc/kubernetes/kubelet-ca.crt"];

/// What goes without a reboot from 4.17 on, where the defaults of node disruption policies say so; a folder stands for all that
/// is in it.
const RELOADED_SINCE: [&str; 4] = [
    "/etc/mco/internal-registry-pull-secret.json",
    "/etc/containers/registries.d",
    "/etc/nmstate/openshift",
    "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
];

/// Whether a file is read anew without a reboot by daemons of the release that a MachineConfig was rendered for.
fn is_reloaded(path: &str, config: &Object) -> bool {
    let version = config.annotation(RELEASE_VERSION).and_then(|version| Version::parse(version).ok());
    let has_policies = version.is_none_or(|version| (version.major, version.minor) >= (4, 17));
    let others: &[&str] = if has_policies { &RELOADED_SINCE } else { &RELOADED_ONCE };
    let is_of = |known: &&str| {
        path.strip_prefix(*known).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'/', ..]))
    };
    RELOADED.iter().chain(others).any(is_of)
}

/// What the way from one MachineConfig to another demands: keys of users and files that are reloaded demand nothing.
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

    #[test]
    fn which_files_are_reloaded_is_the_releases_to_say() {
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
