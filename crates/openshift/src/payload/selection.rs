//! The selection of payload manifests for a cluster, by their annotations (`manifest.Include` of
//! openshift/library-go).

use semver::Version;
use serde_json::Value;

use super::template::PROFILE;

/// The properties of a cluster that select manifests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// `spec.featureSet` of FeatureGate `cluster`, or empty for the default set.
    pub feature_set: String,
    /// Feature gates that are enabled at this version.
    pub feature_gates: Vec<String>,
    /// Major version of the release.
    pub major: u64,
}

impl Selection {
    /// The properties in FeatureGate `cluster`, for a release of this version.
    pub fn of(feature_gate: Option<&Value>, version: &Version) -> Self {
        let nothing = Value::Null;
        let object = feature_gate.unwrap_or(&nothing);
        let feature_set = object["spec"]["featureSet"].as_str().unwrap_or_default().to_owned();
        let versions = object["status"]["featureGates"].as_array().into_iter().flatten();
        let versions = versions.filter(|entry| entry["version"] == version.to_string());
        let enabled = versions.filter_map(|entry| entry["enabled"].as_array()).flatten();
        let enabled = enabled.filter_map(|gate| Some(gate["name"].as_str()?.to_owned()));
        Self { feature_set, feature_gates: enabled.collect(), major: version.major }
    }

    /// Returns whether the cluster includes a manifest. Capabilities are not considered here, because they
    /// are checked when a manifest is applied.
    pub fn includes(&self, manifest: &Value) -> bool {
        let Some(annotations) = manifest["metadata"]["annotations"].as_object() else { return false };
        let text = |key: &str| annotations.get(key).and_then(Value::as_str);
        let of_release = |name: &str| text(&format!("release.openshift.io/{name}"));
        let (feature_set, gates) = (of_release("feature-set"), of_release("feature-gate"));
        text(&format!("include.release.openshift.io/{PROFILE}")) == Some("true")
            && !(feature_set.is_some() && gates.is_some())
            && feature_set.is_none_or(|sets| self.in_feature_set(sets))
            && gates.is_none_or(|gates| names(gates).all(|gate| self.matches_gate(gate)))
            && of_release("major-version").is_none_or(|majors| self.in_major(majors))
    }

    fn in_feature_set(&self, sets: &str) -> bool {
        let own = if self.feature_set.is_empty() { "Default" } else { &self.feature_set };
        names(sets).any(|set| set == own)
    }

    /// A gate must be enabled, or with a `-` prefix disabled.
    fn matches_gate(&self, gate: &str) -> bool {
        let enabled = |gate: &str| self.feature_gates.iter().any(|enabled| enabled == gate);
        gate.strip_prefix('-').map_or_else(|| enabled(gate), |gate| !enabled(gate))
    }

    /// The major must be one of those listed, and none of those with a `-` prefix.
    fn in_major(&self, majors: &str) -> bool {
        let own = self.major.to_string();
        let (not, only): (Vec<&str>, Vec<&str>) = names(majors).partition(|major| major.starts_with('-'));
        not.iter().all(|major| major[1..] != own) && (only.is_empty() || only.contains(&own.as_str()))
    }
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}
