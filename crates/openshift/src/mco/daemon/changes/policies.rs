//! The policies that say what a change of a file, a unit or the SSH keys requires: those built into the daemon, and from
//! 4.17 on those of MachineConfiguration `cluster`.

use serde_json::{Value, json};
use windtunnel_core::View;

use super::Action;
use crate::manifests::MajorMinor;
use crate::mco::node_disruption;

/// The unit of the container runtime.
pub(super) const CONTAINER_RUNTIME: &str = "crio.service";

/// Returns whether an administrator can set policies.
pub(super) fn are_configurable(line: MajorMinor) -> bool {
    line >= node_disruption::FIRST || line == (0, 0)
}

/// The policies of a cluster.
#[derive(Debug)]
pub(super) struct Policies {
    /// As in the status of the MachineConfiguration.
    policies: Value,
}

impl Policies {
    /// The policies for daemons of a minor.
    pub(super) fn of(line: MajorMinor, view: &View) -> Self {
        let policies =
            if are_configurable(line) { node_disruption::effective(view, line) } else { built_in() };
        Self { policies }
    }

    /// The actions for a file. The longest path that is the file's or that of a folder around it counts.
    pub(super) fn of_file(&self, path: &str) -> Vec<Action> {
        let policies = self.policies["files"].as_array().into_iter().flatten();
        let matching = policies.filter(|policy| {
            let rest = policy["path"].as_str().and_then(|of| path.strip_prefix(of.trim_end_matches('/')));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        read(matching.max_by_key(|policy| policy["path"].as_str().map_or(0, str::len)))
    }

    /// The actions for a unit.
    pub(super) fn of_unit(&self, name: &str) -> Vec<Action> {
        read(self.policies["units"].as_array().into_iter().flatten().find(|policy| policy["name"] == *name))
    }

    /// The actions for changed users and SSH keys.
    pub(super) fn of_keys(&self) -> Vec<Action> {
        read(Some(&self.policies["sshkey"]))
    }
}

/// The actions of a policy. Without one it is a reboot.
fn read(policy: Option<&Value>) -> Vec<Action> {
    let Some(actions) = policy.and_then(|policy| policy["actions"].as_array()) else {
        return vec![Action::Reboot];
    };
    let service =
        |action: &Value, of: &str| action[of]["serviceName"].as_str().unwrap_or_default().to_owned();
    let read = |action: &Value| match action["type"].as_str() {
        Some("None") => Action::None,
        Some("Drain") => Action::Drain,
        Some("Reload") => Action::Reload(service(action, "reload")),
        Some("Restart") => Action::Restart(service(action, "restart")),
        Some("DaemonReload") => Action::DaemonReload,
        Some("Special") => Action::Registries,
        _ => Action::Reboot,
    };
    actions.iter().map(read).collect()
}

/// The policies of daemons up to 4.16.
fn built_in() -> Value {
    let file = |path: &str, action: Value| json!({ "path": path, "actions": [action] });
    let (none, registries) = (json!({ "type": "None" }), json!({ "type": "Special" }));
    let reload = json!({ "type": "Reload", "reload": { "serviceName": CONTAINER_RUNTIME } });
    json!({
        "files": [
            file("/etc/kubernetes/kubelet-ca.crt", none.clone()),
            file("/var/lib/kubelet/config.json", none.clone()),
            file("/etc/containers/registries.conf", registries),
            file("/etc/containers/policy.json", reload.clone()),
            file("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", reload),
        ],
        "sshkey": { "actions": [none] },
    })
}
