//! Which capabilities are known and enabled. They are never disabled again: what a payload brings along, or an
//! earlier operator enabled, stays as implicitly enabled.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::payload::Payload;
use crate::manifests::is_preview;
use crate::release::Release;

/// What the operator's own Deployment has it enable always (`--always-enable-capabilities`), in releases that know it.
const ALWAYS_ENABLED: &[&str] = &["Ingress"];

/// The set of all capabilities, which is also asked for where spec names none.
const CURRENT: &str = "vCurrent";

/// The arguments with which a release's Deployment starts its operator for it.
pub(super) fn arguments(release: &Release) -> impl Iterator<Item = String> {
    always_enabled(release).map(|name| format!("--always-enable-capabilities={name}"))
}

fn always_enabled(release: &Release) -> impl Iterator<Item = &'static str> {
    let known = |name: &&&str| release.known_capabilities.iter().any(|known| known == **name);
    ALWAYS_ENABLED.iter().filter(known).copied()
}

/// The capability state of one operator process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// All that the running operator knows.
    known: BTreeSet<String>,
    /// What of that stands behind feature gates: of the frozen sets, `vCurrent` alone has it.
    gated: BTreeSet<String>,
    /// `spec.capabilities` as it was last seen.
    spec: Option<Value>,
    /// What it asks for.
    asked: BTreeSet<String>,
    /// What is enabled although spec does not ask for it.
    implicit: BTreeSet<String>,
}

impl Capabilities {
    /// The state at the start of a process: what spec asks for by the tables of `release` with this feature set, what status says
    /// was enabled before, and what is always enabled.
    pub(super) fn at_start(release: &Release, feature_set: &str, cluster_version: &Value) -> Self {
        let gated = if is_preview(feature_set) { &*release.preview_capabilities } else { &[] };
        let mut capabilities = Self {
            known: release.known_capabilities.iter().chain(gated).cloned().collect(),
            gated: gated.iter().cloned().collect(),
            spec: None,
            asked: BTreeSet::new(),
            implicit: texts(&cluster_version["status"]["capabilities"]["enabledCapabilities"]),
        };
        capabilities.implicit.extend(always_enabled(release).map(str::to_owned));
        capabilities.ask(release, &cluster_version["spec"]["capabilities"]);
        capabilities
    }

    /// Takes `spec.capabilities` in. Whether anything is enabled by that which was not.
    pub(super) fn ask(&mut self, release: &Release, spec: &Value) -> bool {
        if self.spec.as_ref() == Some(spec) {
            return false;
        }
        self.spec = Some(spec.clone());
        let enabled = self.enabled().cloned().collect::<BTreeSet<_>>();
        let set = spec["baselineCapabilitySet"].as_str().unwrap_or(CURRENT);
        self.asked = release.capability_sets.get(set).into_iter().flatten().cloned().collect();
        if set == CURRENT {
            self.asked.extend(self.gated.iter().cloned());
        }
        self.asked.extend(texts(&spec["additionalEnabledCapabilities"]));
        self.implicit = enabled.difference(&self.asked).cloned().collect();
        !self.asked.is_subset(&enabled)
    }

    /// Whether a manifest that needs these capabilities is applied: all are enabled, and known to the running operator.
    pub(super) fn include(&self, needed: &[String]) -> bool {
        needed.iter().all(|name| self.known.contains(name) && self.is_enabled(name))
    }

    /// Enables implicitly what `target` asks of manifests that are applied now, even names that only `target` knows
    /// (`GetImplicitlyEnabledCapabilities`).
    pub(super) fn enable_for(&mut self, current: &Payload, target: &Payload) {
        let applied_now = current.capabilities();
        for (manifest, needed) in target.capabilities() {
            if applied_now.get(&manifest).is_some_and(|needed_now| self.include(needed_now)) {
                let missing: Vec<String> =
                    needed.iter().filter(|name| !self.is_enabled(name)).cloned().collect();
                self.implicit.extend(missing);
            }
        }
    }

    /// `status.capabilities`.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({ "knownCapabilities": self.known });
        let enabled: Vec<Value> = self.enabled().map(|name| json!(name)).collect();
        if !enabled.is_empty() {
            status["enabledCapabilities"] = Value::Array(enabled);
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

    /// What is enabled, sorted.
    fn enabled(&self) -> impl Iterator<Item = &String> {
        self.asked.union(&self.implicit)
    }
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Selection;

    fn payload(release: &Release) -> Payload {
        Payload::load(release, Selection::default())
    }

    fn release(version: &str) -> Release {
        Release::find(&version.parse().unwrap()).unwrap()
    }

    fn enabled(capabilities: &Capabilities) -> Vec<String> {
        capabilities.enabled().cloned().collect()
    }

    #[test]
    fn the_set_v4_13_gained_machine_api_in_4_14() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "v4.13" } } });
        let older = enabled(&Capabilities::at_start(&release("4.13.0"), "", &spec));
        let newer = enabled(&Capabilities::at_start(&release("4.14.0"), "", &spec));
        let gained: Vec<&String> = newer.iter().filter(|name| !older.contains(name)).collect();
        assert_eq!(older.len(), 8);
        assert_eq!(gained, ["MachineAPI"]);
        assert_eq!(newer[3], "MachineAPI", "sorted bytewise, upper case first");
    }

    #[test]
    fn what_a_payload_brings_for_components_applied_now_is_enabled_implicitly_even_if_unknown() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "v4.13" } } });
        let (current, target) = (release("4.13.0"), release("4.14.0"));
        let mut capabilities = Capabilities::at_start(&current, "", &spec);
        capabilities.enable_for(&payload(&current), &payload(&target));
        let implicit: Vec<&str> = capabilities.implicit().iter().map(String::as_str).collect();
        assert_eq!(implicit, ["Build", "DeploymentConfig", "ImageRegistry", "MachineAPI"]);
        assert_eq!(capabilities.status()["knownCapabilities"].as_array().unwrap().len(), 8, "its own only");
    }

    #[test]
    fn a_component_that_is_not_applied_now_brings_nothing() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "None" } } });
        let release = release("4.14.0");
        let mut capabilities = Capabilities::at_start(&release, "", &spec);
        capabilities.enable_for(&payload(&release), &payload(&release));
        assert_eq!(enabled(&capabilities), [""; 0]);
    }

    #[test]
    fn ingress_is_always_enabled_where_it_is_known() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "None" } } });
        for (version, names) in [("4.15.0", [].as_slice()), ("4.16.0", &["Ingress"]), ("5.0.0", &["Ingress"])]
        {
            let release = release(version);
            let capabilities = Capabilities::at_start(&release, "", &spec);
            assert_eq!(enabled(&capabilities), names, "{version}");
            assert_eq!(capabilities.implicit().len(), names.len(), "{version}: nobody asked for it");
            assert_eq!(arguments(&release).count(), names.len(), "{version}");
        }
        let all = Capabilities::at_start(&release("4.16.0"), "", &json!({}));
        assert!(all.implicit().is_empty(), "the default set has it");
    }

    #[test]
    fn what_was_enabled_before_stays_enabled_and_is_implicit() {
        let mut object = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "None" } } });
        object["status"] = json!({ "capabilities": { "enabledCapabilities": ["MachineAPI"] } });
        let capabilities = Capabilities::at_start(&release("4.13.0"), "", &object);
        assert_eq!(capabilities.status()["enabledCapabilities"], json!(["MachineAPI"]));
        assert!(capabilities.implicit().contains("MachineAPI"));
    }

    #[test]
    fn gated_capabilities_are_known_with_previews_and_of_the_sets_only_the_current_one_has_them() {
        let gated = |feature_set: &str, set: &str| {
            let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": set } } });
            let capabilities = Capabilities::at_start(&release("5.0.0"), feature_set, &spec);
            (capabilities.known.len(), capabilities.is_enabled("ClusterAPI"))
        };
        assert_eq!(gated("", "vCurrent"), (17, false));
        assert_eq!(gated("TechPreviewNoUpgrade", "vCurrent"), (19, true));
        assert_eq!(gated("TechPreviewNoUpgrade", "v4.18"), (19, false));
    }
}
