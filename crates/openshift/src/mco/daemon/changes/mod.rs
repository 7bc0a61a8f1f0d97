//! The effects of a change from one MachineConfig to another on the node: a reboot, a drain, restarts of services.

mod policies;
mod registries;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::{Object, View};

use self::policies::Policies;
use crate::manifests::MajorMinor;

/// Something that the daemon does after it has written the files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// Nothing.
    None,
    /// A drain before the files are written.
    Drain,
    /// A service reloads its configuration.
    Reload(String),
    /// A service is restarted.
    Restart(String),
    /// systemd reads its units again.
    DaemonReload,
    /// The container runtime reads its registries again, after a drain if images could come from elsewhere.
    Registries,
    /// A drain and a reboot.
    Reboot,
}

/// The parts of a MachineConfig that a daemon compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Differences {
    /// Whether something differs that only a reboot changes: operating system, kernel, extensions, FIPS.
    needs_reboot: bool,
    /// The paths of files that differ.
    files: BTreeSet<String>,
    /// The names of units that differ.
    units: BTreeSet<String>,
    /// Whether users or their keys differ.
    users: bool,
}

impl Differences {
    /// The differences of two rendered MachineConfigs.
    pub(super) fn between(from: &Object, to: &Object) -> Self {
        let list = |config: &Object, field: &str| match &config["spec"][field] {
            Value::Array(list) => list.clone(),
            _ => Vec::new(),
        };
        let kernel = |config: &Object| match config.text("/spec/kernelType") {
            "" => "default".to_owned(),
            kernel => kernel.to_owned(),
        };
        let needs_reboot = from.text("/spec/osImageURL") != to.text("/spec/osImageURL")
            || kernel(from) != kernel(to)
            || (from["spec"]["fips"] == true) != (to["spec"]["fips"] == true)
            || ["kernelArguments", "extensions"].iter().any(|field| list(from, field) != list(to, field));
        Self {
            needs_reboot,
            files: differing(from, to, "/spec/config/storage/files", "path"),
            units: differing(from, to, "/spec/config/systemd/units", "name"),
            users: from.pointer("/spec/config/passwd") != to.pointer("/spec/config/passwd"),
        }
    }
}

/// The keys of entries of a list that exist in one MachineConfig only or differ.
fn differing(from: &Object, to: &Object, list: &str, key: &str) -> BTreeSet<String> {
    let entries =
        |config: &Object| config.pointer(list).and_then(Value::as_array).cloned().unwrap_or_default();
    let (from, to) = (entries(from), entries(to));
    let missing = |one: &[Value], other: &[Value]| {
        let changed = one.iter().filter(|entry| !other.contains(entry));
        changed.map(|entry| entry[key].as_str().unwrap_or_default().to_owned()).collect::<BTreeSet<_>>()
    };
    let mut keys = missing(&from, &to);
    keys.extend(missing(&to, &from));
    keys
}

/// The effects of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    actions: Vec<Action>,
    drains: bool,
}

impl Plan {
    /// The plan of the daemons of a minor for a change.
    pub(super) fn of(from: &Object, to: &Object, line: MajorMinor, view: &View) -> Self {
        let differences = Differences::between(from, to);
        let actions = actions(&differences, &Policies::of(line, view));
        let drains = actions.iter().any(|action| match action {
            Action::Reboot | Action::Drain => true,
            Action::Registries => !registries::is_safe(from, to, line),
            _ => false,
        });
        Self { actions, drains }
    }

    /// Whether the node reboots.
    pub(super) fn reboots(&self) -> bool {
        self.actions.contains(&Action::Reboot)
    }

    /// Whether the node is drained before.
    pub(super) fn drains(&self) -> bool {
        self.drains
    }

    /// The reasons and messages of the Events after a change without a reboot, by minor.
    pub(super) fn events(&self, line: MajorMinor) -> Vec<(&'static str, String)> {
        let unchanged = "Config changes do not require reboot.";
        let reloaded = |service: &str| {
            if policies::are_configurable(line) {
                ("ServiceReload", format!("{unchanged} Service {service} was reloaded."))
            } else {
                let service = service.trim_end_matches(".service");
                ("SkipReboot", format!("{unchanged} Service {service} was reloaded."))
            }
        };
        let event = |action: &Action| match action {
            Action::None => Some(("SkipReboot", unchanged.to_owned())),
            Action::Reload(service) => Some(reloaded(service)),
            Action::Registries => Some(reloaded(policies::CONTAINER_RUNTIME)),
            Action::DaemonReload => Some(reloaded("daemon-reload")),
            Action::Restart(service) => {
                Some(("ServiceRestart", format!("{unchanged} Service {service} was restarted.")))
            }
            Action::Drain | Action::Reboot => None,
        };
        self.actions.iter().filter_map(event).collect()
    }
}

/// The actions that the policies require, without those that others include.
fn actions(differences: &Differences, policies: &Policies) -> Vec<Action> {
    if differences.needs_reboot {
        return vec![Action::Reboot];
    }
    let files = differences.files.iter().map(|path| policies.of_file(path));
    let units = differences.units.iter().map(|name| policies.of_unit(name));
    let keys = differences.users.then(|| policies.of_keys());
    let mut actions: Vec<Action> = Vec::new();
    for action in files.chain(units).chain(keys).flatten() {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    if actions.contains(&Action::Reboot) {
        return vec![Action::Reboot];
    }
    if actions.len() > 1 {
        actions.retain(|action| *action != Action::None);
    }
    if actions.is_empty() {
        actions.push(Action::None);
    }
    actions
}
