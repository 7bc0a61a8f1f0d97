//! Which capabilities are known and enabled. They are never disabled again: what a payload brings along, or an
//! earlier operator enabled, stays as implicitly enabled.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::release::{Component, Release};

/// The capability state of one operator process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// All that the running operator knows.
    known: BTreeSet<String>,
    /// What spec asks for.
    asked: BTreeSet<String>,
    /// What is enabled although spec does not ask for it.
    implicit: BTreeSet<String>,
}

impl Capabilities {
    /// The state at the start of a process: what spec asks for by the tables of `release`, and what status says was
    /// enabled before.
    pub(super) fn at_start(release: &Release, cluster_version: &Value) -> Self {
        let mut capabilities = Self {
            known: release.known_capabilities.iter().cloned().collect(),
            asked: BTreeSet::new(),
            implicit: texts(&cluster_version["status"]["capabilities"]["enabledCapabilities"]),
        };
        capabilities.ask(release, &cluster_version["spec"]["capabilities"]);
        capabilities
    }

    /// Takes `spec.capabilities` in.
    pub(super) fn ask(&mut self, release: &Release, spec: &Value) {
        let enabled = self.enabled();
        let set = spec["baselineCapabilitySet"].as_str().unwrap_or("vCurrent");
        self.asked = release.capability_sets.get(set).into_iter().flatten().cloned().collect();
        self.asked.extend(texts(&spec["additionalEnabledCapabilities"]));
        self.implicit = enabled.difference(&self.asked).cloned().collect();
    }

    /// Whether a component is applied: all of its capabilities are enabled and known to the running operator.
    pub(super) fn include(&self, component: &Component) -> bool {
        let on = |name: &String| self.known.contains(name) && self.is_enabled(name);
        component.capabilities.iter().all(on)
    }

    /// Enables implicitly what `target` asks of components that are applied now, even names that only `target`
    /// knows (`GetImplicitlyEnabledCapabilities`).
    pub(super) fn enable_for(&mut self, current: &Release, target: &Release) {
        for component in &target.components {
            let same =
                |old: &&Component| (old.run_level, &old.name) == (component.run_level, &component.name);
            let applied_now = current.components.iter().filter(same).any(|old| self.include(old));
            if applied_now {
                let missing: Vec<String> =
                    component.capabilities.iter().filter(|name| !self.is_enabled(name)).cloned().collect();
                self.implicit.extend(missing);
            }
        }
    }

    /// `status.capabilities`.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({ "knownCapabilities": self.known });
        let enabled = self.enabled();
        if !enabled.is_empty() {
            status["enabledCapabilities"] = json!(enabled);
        }
        status
    }

    /// What is enabled although spec does not ask for it, sorted.
    pub(super) fn implicit(&self) -> &BTreeSet<String> {
        &self.implicit
    }

    fn is_enabled(&self, name: &str) -> bool {
        self.asked.contains(name) || self.implicit.contains(name)
    }

    fn enabled(&self) -> BTreeSet<String> {
        self.asked.union(&self.implicit).cloned().collect()
    }
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
