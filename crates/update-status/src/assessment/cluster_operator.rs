//! Assesses a cluster operator for its status insight: whether it is updated and healthy.
//!
//! The rules, their order and their texts are those of the update status controller that was part of the
//! cluster-version operator until April 2025 (`pkg/updatestatus`, `assessClusterOperator`).

use serde_json::Value;
use windtunnel_core::clock::Time;

use super::dated_condition::DatedCondition;
use super::rules::Rules;
use crate::insight::{ClusterOperatorStatusInsight, InsightCondition, ResourceRef};

/// The operator whose image counts besides its version. It reports a new version last, when all control plane
/// nodes have it.
pub const MACHINE_CONFIG: &str = "machine-config";
/// The Deployment and the container that define that image.
pub const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";
/// The namespace of that Deployment.
pub const MCO_NAMESPACE: &str = "openshift-machine-config-operator";

const NOT_FOUND: &str = "The cluster operator is unavailable because the available condition is not found in the cluster \
                         operator's status";

/// The relevant fields of a ClusterOperator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The operator's name.
    pub name: String,
    /// Whether it is part of a release payload.
    pub is_of_payload: bool,
    /// Name and version of each entry of `status.versions`.
    versions: Vec<(String, String)>,
    /// `Available`; like the others, the last one of its type.
    pub available: Option<DatedCondition>,
    /// `Progressing`.
    pub progressing: Option<DatedCondition>,
    /// `Degraded`.
    pub degraded: Option<DatedCondition>,
}

impl Operator {
    /// Reads a ClusterOperator.
    pub fn read(operator: &Value) -> Self {
        let (metadata, status) = (&operator["metadata"], &operator["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let profile = |key: &String| {
            ["include", "exclude"]
                .iter()
                .any(|verb| key.starts_with(&format!("{verb}.release.openshift.io/")))
        };
        let versions = status["versions"].as_array().into_iter().flatten();
        let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        let last = |kind: &str| conditions.iter().rfind(|one| one["type"] == kind).map(DatedCondition::read);
        Self {
            name: text(&metadata["name"]),
            is_of_payload: metadata["annotations"].as_object().is_some_and(|all| all.keys().any(profile)),
            versions: versions.map(|one| (text(&one["name"]), text(&one["version"]))).collect(),
            available: last("Available"),
            progressing: last("Progressing"),
            degraded: last("Degraded"),
        }
    }

    /// Returns whether it reports the version `target` and, if it reports an image, that image, by the rules of
    /// the update status controller. Any operator can report an image, and one matching entry is enough.
    pub fn is_updated(&self, target: &str, image: &str) -> bool {
        let reports_image = self.reported("operator-image").next().is_some();
        let has_image = !image.is_empty() && self.reported("operator-image").any(|found| found == image);
        self.reported("operator").any(|version| version == target) && (!reports_image || has_image)
    }

    /// Returns whether it is updated by the rules of `oc`, which compares the image of no operator but
    /// `machine-config`, and with every entry. `image` is empty if unknown.
    fn is_updated_for_oc(&self, target: &str, image: &str) -> bool {
        let runs_another_image =
            self.name == MACHINE_CONFIG && self.reported("operator-image").any(|found| found != image);
        !runs_another_image && self.reported("operator").any(|version| version == target)
    }

    /// Returns the progress towards the version `target`. `mco_image` is the image in the machine-config
    /// operator's Deployment; empty if unknown.
    pub(crate) fn progress(&self, target: &str, mco_image: &str, rules: Rules) -> OperatorProgress {
        let is_updated = match rules {
            Rules::Oc => self.is_updated_for_oc(target, mco_image),
            Rules::Controller => {
                let image = if self.name == MACHINE_CONFIG { mco_image } else { "" };
                self.is_updated(target, image)
            }
        };
        self.progress_if(is_updated)
    }

    fn progress_if(&self, is_updated: bool) -> OperatorProgress {
        match self.progressing.as_ref().map(|progressing| progressing.status.as_str()) {
            _ if is_updated => OperatorProgress::Updated,
            Some("True") => OperatorProgress::Updating,
            Some("False") => OperatorProgress::Waiting,
            _ => OperatorProgress::Unknown,
        }
    }

    /// Returns its health at present, regardless of how long a problem lasts.
    pub(crate) fn health(&self) -> OperatorHealth<'_> {
        match (&self.available, &self.degraded) {
            (None, _) => OperatorHealth::Unavailable(None),
            (Some(available), _) if !available.has_status("True") => {
                OperatorHealth::Unavailable(Some(available))
            }
            (_, Some(degraded)) if degraded.has_status("True") => OperatorHealth::Degraded(degraded),
            _ => OperatorHealth::Healthy,
        }
    }

    /// Returns the versions that it reports under this name.
    fn reported(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.versions.iter().filter(move |(known, _)| known == name).map(|(_, version)| version.as_str())
    }
}

/// The progress of an operator towards the target version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperatorProgress {
    Updated,
    /// Outdated, with `Progressing=True`.
    Updating,
    /// Outdated, with `Progressing=False`.
    Waiting,
    /// Outdated, with another status of `Progressing` or none. `oc` counts it nowhere.
    Unknown,
}

/// The health of an operator at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperatorHealth<'a> {
    /// `Available` is not `True`, or missing. The latter is unavailable for `oc` and unknown for the controller.
    Unavailable(Option<&'a DatedCondition>),
    /// Available, with `Degraded=True`.
    Degraded(&'a DatedCondition),
    Healthy,
}

/// Returns the image of the machine-config operator in its Deployment; `None` without such a container.
pub fn image_of(deployment: &Value) -> Option<String> {
    let containers = deployment.pointer("/spec/template/spec/containers")?.as_array()?;
    let container = containers.iter().find(|container| container["name"] == MACHINE_CONFIG_OPERATOR)?;
    container["image"].as_str().map(str::to_owned)
}

/// Assesses an operator whose target version is `target`, and whose target image is `image` if it has one.
/// The transition time of its conditions becomes `now`.
pub fn assess(operator: &Operator, target: &str, image: &str, now: Time) -> ClusterOperatorStatusInsight {
    let updating = updating(operator, operator.is_updated(target, image));
    let condition = |kind: &str, (status, reason, message): (&str, &str, &str)| InsightCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        last_transition_time: Some(now),
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    ClusterOperatorStatusInsight {
        conditions: vec![condition("Updating", updating), condition("Healthy", healthy(operator))],
        name: operator.name.clone(),
        resource: ResourceRef::cluster_operator(&operator.name),
    }
}

fn updating(operator: &Operator, is_updated: bool) -> (&'static str, &'static str, &str) {
    let message = operator.progressing.as_ref().map_or("", |progressing| progressing.message.as_str());
    match operator.progress_if(is_updated) {
        OperatorProgress::Updated => ("False", "Updated", ""),
        OperatorProgress::Updating => ("True", "Progressing", message),
        OperatorProgress::Waiting => ("False", "Pending", message),
        OperatorProgress::Unknown => ("Unknown", "CannotDetermine", ""),
    }
}

fn healthy(operator: &Operator) -> (&'static str, &'static str, &str) {
    match operator.health() {
        OperatorHealth::Unavailable(None) => ("Unknown", "Unavailable", NOT_FOUND),
        OperatorHealth::Unavailable(Some(available)) => ("False", "Unavailable", &available.message),
        OperatorHealth::Degraded(degraded) => ("False", "Degraded", &degraded.message),
        OperatorHealth::Healthy => ("True", "AsExpected", ""),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks `Updating` and `Healthy` of an operator with these versions and conditions; the target version
    /// is 4.14.8.
    fn check(versions: &Value, conditions: &[(&str, &str)], image: &str, wanted: [&str; 2]) {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "message": format!("m{kind}")}))
            .collect();
        let status = json!({"versions": versions, "conditions": conditions});
        let operator = Operator::read(&json!({"metadata": {"name": "etcd"}, "status": status}));
        let insight = assess(&operator, "4.14.8", image, "2024-01-01T00:00:00Z".parse().unwrap());
        let texts = insight.conditions.iter().map(|c| format!("{} {} {}", c.status, c.reason, c.message));
        assert_eq!(texts.collect::<Vec<_>>(), wanted, "{status}");
    }

    #[test]
    fn an_operator_is_updated_when_it_reports_the_target_version_and_image() {
        const WELL: &str = "True AsExpected ";
        let at = |version: &str| json!([{"name": "operator", "version": version}]);
        let conditions = [("Available", "True"), ("Progressing", "True")];
        check(&at("4.14.8"), &conditions, "", ["False Updated ", WELL]);
        check(&at("4.14.1"), &conditions, "", ["True Progressing mProgressing", WELL]);
        check(
            &at("4.14.1"),
            &[("Available", "True"), ("Progressing", "False")],
            "",
            ["False Pending mProgressing", WELL],
        );
        check(&json!(7), &conditions[..1], "", ["Unknown CannotDetermine ", WELL]);
        let with_image =
            json!([{"name": "operator", "version": "4.14.8"}, {"name": "operator-image", "version": "new"}]);
        for (image, updating) in [
            ("new", "False Updated "),
            ("old", "True Progressing mProgressing"),
            ("", "True Progressing mProgressing"),
        ] {
            check(&with_image, &conditions, image, [updating, WELL]);
        }
    }

    #[test]
    fn an_unavailable_or_degraded_operator_is_not_healthy() {
        const UNKNOWN: &str = "Unknown CannotDetermine ";
        check(&json!([]), &[("Available", "Unknown")], "", [UNKNOWN, "False Unavailable mAvailable"]);
        check(
            &json!([]),
            &[("Available", "True"), ("Degraded", "True")],
            "",
            [UNKNOWN, "False Degraded mDegraded"],
        );
        let unknown = format!("Unknown Unavailable {NOT_FOUND}");
        check(&json!([]), &[("Degraded", "True")], "", [UNKNOWN, &unknown]);
        let twice = [("Available", "False"), ("Available", "True")];
        check(&json!([]), &twice, "", [UNKNOWN, "True AsExpected "]);
    }

    #[test]
    fn reads_the_image_of_the_container_with_the_operator_name() {
        let deployment = |name: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": name, "image": "i"}]}}}});
        assert_eq!(image_of(&deployment(MACHINE_CONFIG_OPERATOR)).as_deref(), Some("i"));
        assert_eq!([image_of(&deployment("other")), image_of(&json!(null))], [None, None]);
    }
}
