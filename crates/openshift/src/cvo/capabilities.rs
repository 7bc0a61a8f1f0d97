//! Known and enabled cluster capabilities. A capability is never disabled again: if the payload requires it,
//! or an earlier operator enabled it, it stays implicitly enabled.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::manifests::is_preview;
use crate::release::Release;

/// Capabilities that the operator's Deployment always enables (`--always-enable-capabilities`), in releases
/// that know them.
const ALWAYS_ENABLED: &[&str] = &["Ingress"];

/// The set of all capabilities, and the default.
const CURRENT: &str = "vCurrent";

/// The capabilities that each task of a payload needs, by task identity.
pub(super) type NeededCapabilities<'a> = BTreeMap<String, &'a [String]>;

/// The `--always-enable-capabilities` arguments in the Deployment of a release.
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
    /// All capabilities that the running operator knows.
    known: BTreeSet<String>,
    /// Known capabilities behind feature gates. Of the capability sets only `vCurrent` contains them.
    gated: BTreeSet<String>,
    /// The last seen `spec.capabilities`.
    spec: Option<Value>,
    /// The capabilities that the spec requests.
    requested: BTreeSet<String>,
    /// Capabilities that are enabled although the spec does not request them.
    implicit: BTreeSet<String>,
}

impl Capabilities {
    /// The state when a process starts. The enabled capabilities are those that the spec requests by the sets
    /// in `release`, those in the status, and those that are always enabled.
    pub(super) fn at_start(release: &Release, feature_set: &str, cluster_version: &Value) -> Self {
        let gated = if is_preview(feature_set) { &*release.preview_capabilities } else { &[] };
        let mut capabilities = Self {
            known: release.known_capabilities.iter().chain(gated).cloned().collect(),
            gated: gated.iter().cloned().collect(),
            spec: None,
            requested: BTreeSet::new(),
            implicit: texts(&cluster_version["status"]["capabilities"]["enabledCapabilities"]),
        };
        capabilities.implicit.extend(always_enabled(release).map(str::to_owned));
        capabilities.update_spec(release, &cluster_version["spec"]["capabilities"]);
        capabilities
    }

    /// Applies a new `spec.capabilities`. Returns whether it enables any further capability.
    pub(super) fn update_spec(&mut self, release: &Release, spec: &Value) -> bool {
        if self.spec.as_ref() == Some(spec) {
            return false;
        }
        self.spec = Some(spec.clone());
        let enabled = self.enabled().cloned().collect::<BTreeSet<_>>();
        let set = spec["baselineCapabilitySet"].as_str().unwrap_or(CURRENT);
        self.requested = release.capability_sets.get(set).into_iter().flatten().cloned().collect();
        if set == CURRENT {
            self.requested.extend(self.gated.iter().cloned());
        }
        self.requested.extend(texts(&spec["additionalEnabledCapabilities"]));
        self.implicit = enabled.difference(&self.requested).cloned().collect();
        !self.requested.is_subset(&enabled)
    }

    /// Whether the operator applies a manifest that needs these capabilities: each must be known and enabled.
    pub(super) fn include(&self, needed: &[String]) -> bool {
        needed.iter().all(|name| self.known.contains(name) && self.is_enabled(name))
    }

    /// Implicitly enables the capabilities that payload `target` needs for manifests that payload `current`
    /// applies now, even if only `target` knows their names (`GetImplicitlyEnabledCapabilities`).
    pub(super) fn enable_for(&mut self, current: &NeededCapabilities<'_>, target: &NeededCapabilities<'_>) {
        for (manifest, needed) in target {
            if current.get(manifest).is_some_and(|needed_now| self.include(needed_now)) {
                let missing: Vec<String> =
                    needed.iter().filter(|name| !self.is_enabled(name)).cloned().collect();
                self.implicit.extend(missing);
            }
        }
    }

    pub(super) fn status(&self) -> Value {
        let mut status = json!({ "knownCapabilities": self.known });
        let enabled: Vec<Value> = self.enabled().map(|name| json!(name)).collect();
        if !enabled.is_empty() {
            status["enabledCapabilities"] = Value::Array(enabled);
        }
        status
    }

    /// Capabilities that are enabled although the spec does not request them, sorted.
    pub(super) fn implicit(&self) -> &BTreeSet<String> {
        &self.implicit
    }

    fn is_enabled(&self, name: &str) -> bool {
        self.requested.contains(name) || self.implicit.contains(name)
    }

    /// The enabled capabilities, sorted.
    fn enabled(&self) -> impl Iterator<Item = &String> {
        self.requested.union(&self.implicit)
    }
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cvo::payload::Payload;
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
        let old = enabled(&Capabilities::at_start(&release("4.13.0"), "", &spec));
        let new = enabled(&Capabilities::at_start(&release("4.14.0"), "", &spec));
        let gained: Vec<&String> = new.iter().filter(|name| !old.contains(name)).collect();
        assert_eq!(old.len(), 8);
        assert_eq!(gained, ["MachineAPI"]);
        assert_eq!(new[3], "MachineAPI", "sorted bytewise, upper case first");
    }

    #[test]
    fn implicitly_enables_new_capabilities_of_applied_components_even_if_unknown() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "v4.13" } } });
        let (current, target) = (release("4.13.0"), release("4.14.0"));
        let mut capabilities = Capabilities::at_start(&current, "", &spec);
        capabilities.enable_for(&payload(&current).capabilities(), &payload(&target).capabilities());
        let implicit: Vec<&str> = capabilities.implicit().iter().map(String::as_str).collect();
        assert_eq!(implicit, ["Build", "DeploymentConfig", "ImageRegistry", "MachineAPI"]);
        assert_eq!(capabilities.status()["knownCapabilities"].as_array().unwrap().len(), 8, "its own only");
    }

    #[test]
    fn a_component_that_is_not_applied_enables_nothing() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "None" } } });
        let release = release("4.14.0");
        let mut capabilities = Capabilities::at_start(&release, "", &spec);
        capabilities.enable_for(&payload(&release).capabilities(), &payload(&release).capabilities());
        assert_eq!(enabled(&capabilities), [""; 0]);
    }

    #[test]
    fn ingress_is_always_enabled_in_releases_that_know_it() {
        let spec = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "None" } } });
        for (version, names) in [("4.15.0", [].as_slice()), ("4.16.0", &["Ingress"]), ("5.0.0", &["Ingress"])]
        {
            let release = release(version);
            let capabilities = Capabilities::at_start(&release, "", &spec);
            assert_eq!(enabled(&capabilities), names, "{version}");
            assert_eq!(capabilities.implicit().len(), names.len(), "{version}: the spec does not request it");
            assert_eq!(arguments(&release).count(), names.len(), "{version}");
        }
        let all = Capabilities::at_start(&release("4.16.0"), "", &json!({}));
        assert!(all.implicit().is_empty(), "the default set has it");
    }

    #[test]
    fn enabled_capabilities_in_the_status_stay_implicitly_enabled() {
        let mut object = json!({ "spec": { "capabilities": { "baselineCapabilitySet": "None" } } });
        object["status"] = json!({ "capabilities": { "enabledCapabilities": ["MachineAPI"] } });
        let capabilities = Capabilities::at_start(&release("4.13.0"), "", &object);
        assert_eq!(capabilities.status()["enabledCapabilities"], json!(["MachineAPI"]));
        assert!(capabilities.implicit().contains("MachineAPI"));
    }

    #[test]
    fn gated_capabilities_are_known_with_previews_and_only_in_the_current_set() {
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
