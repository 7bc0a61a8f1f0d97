//! Feature gates that simulated components check: the releases and feature sets that have them.

use serde_json::Value;
use windtunnel_core::resources::FEATURE_GATES;
use windtunnel_core::{Object, View};

use crate::manifests::MajorMinor;
use crate::release::Release;

/// A feature gate of openshift/api (`features/features.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeatureGate {
    name: &'static str,
    /// The first minor that has it.
    from: MajorMinor,
    /// The feature sets that enable it.
    sets: &'static [&'static str],
}

const TECH_PREVIEW: &str = "TechPreviewNoUpgrade";
const DEV_PREVIEW: &str = "DevPreviewNoUpgrade";
const CUSTOM: &str = "CustomNoUpgrade";

/// Administrators accept update risks by name (`spec.desiredUpdate.acceptRisks`).
pub(crate) const ACCEPT_RISKS: FeatureGate =
    FeatureGate { name: "ClusterUpdateAcceptRisks", from: (4, 22), sets: &[TECH_PREVIEW, DEV_PREVIEW] };
/// An update is checked without being started (`spec.desiredUpdate.mode`).
pub(crate) const PREFLIGHT: FeatureGate =
    FeatureGate { name: "ClusterUpdatePreflight", from: (4, 22), sets: &[DEV_PREVIEW] };

impl FeatureGate {
    /// Returns whether the gate is enabled for a component of this release.
    ///
    /// FeatureGate `cluster` decides: the entry of the release in its status, or else its feature set. A custom
    /// set enables exactly the gates that it lists.
    pub(crate) fn is_enabled(self, release: &Release, view: &View) -> bool {
        release.line() >= self.from
            && view
                .get(&FEATURE_GATES, "", "cluster")
                .is_some_and(|object| self.is_enabled_by(object, &release.version.to_string()))
    }

    fn is_enabled_by(self, object: &Object, version: &str) -> bool {
        let entries = object.list("/status/featureGates");
        if let Some(entry) = entries.iter().find(|entry| entry["version"] == version) {
            return self.is_in(&entry["enabled"]) && !self.is_in(&entry["disabled"]);
        }
        let custom = &object["spec"]["customNoUpgrade"];
        let names = |field: &str| {
            let names = custom[field].as_array().into_iter().flatten();
            names.into_iter().any(|name| name == self.name)
        };
        match object.text("/spec/featureSet") {
            CUSTOM => names("enabled") && !names("disabled"),
            set => self.sets.contains(&set),
        }
    }

    fn is_in(self, gates: &Value) -> bool {
        gates.as_array().into_iter().flatten().any(|gate| gate["name"] == self.name)
    }
}

#[cfg(test)]
mod tests {
    use semver::Version;
    use serde_json::json;
    use windtunnel_core::{Change, ChangeKind};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "callers write the values in place")]
    fn is_enabled(gate: FeatureGate, version: &str, spec: Value, status: Value) -> bool {
        let mut view = View::default();
        let object = json!({ "metadata": { "name": "cluster" }, "spec": spec, "status": status });
        let (key, object) = (FEATURE_GATES.key_of(&object), Object::new(object));
        view.apply(&Change { key, kind: ChangeKind::Added, object, old: None });
        gate.is_enabled(&Release::find(&version.parse::<Version>().unwrap()).unwrap(), &view)
    }

    #[test]
    fn a_feature_set_enables_a_gate_from_its_first_release_on() {
        let by_set =
            |gate, version, set: &str| is_enabled(gate, version, json!({ "featureSet": set }), json!({}));
        assert!(by_set(ACCEPT_RISKS, "4.22.1", TECH_PREVIEW) && by_set(ACCEPT_RISKS, "5.0.1", DEV_PREVIEW));
        assert!(!by_set(ACCEPT_RISKS, "4.21.1", TECH_PREVIEW) && !by_set(ACCEPT_RISKS, "4.22.1", ""));
        assert!(by_set(PREFLIGHT, "4.22.1", DEV_PREVIEW) && !by_set(PREFLIGHT, "4.22.1", TECH_PREVIEW));
    }

    #[test]
    fn a_custom_set_enables_the_gates_that_it_lists() {
        let custom = |lists: Value| {
            is_enabled(
                PREFLIGHT,
                "4.22.1",
                json!({ "featureSet": CUSTOM, "customNoUpgrade": lists }),
                json!({}),
            )
        };
        assert!(custom(json!({ "enabled": ["ClusterUpdatePreflight"] })));
        assert!(!custom(json!({ "enabled": ["ClusterUpdateAcceptRisks"] })));
        assert!(!custom(json!({ "enabled": [PREFLIGHT.name], "disabled": [PREFLIGHT.name] })));
    }

    #[test]
    fn the_status_of_the_release_decides_before_the_feature_set() {
        let status = |list: &str| json!({ "featureGates": [{ "version": "4.22.1", list: [{ "name": PREFLIGHT.name }] }] });
        assert!(is_enabled(PREFLIGHT, "4.22.1", json!({}), status("enabled")));
        assert!(!is_enabled(PREFLIGHT, "4.22.1", json!({ "featureSet": DEV_PREVIEW }), status("disabled")));
        assert!(is_enabled(PREFLIGHT, "4.22.2", json!({ "featureSet": DEV_PREVIEW }), status("disabled")));
    }
}
