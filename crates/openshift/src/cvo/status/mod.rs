//! The ClusterVersion status that the operator writes.

mod failing;
pub(super) mod history;
pub(super) mod metrics;
mod progressing;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};

use self::failing::failing;
use self::history::{Applied, Pruning};
use self::progressing::progressing;
use super::behaviour::Behaviour;
use super::capabilities::Capabilities;
use super::retrieve::load::LoadResult;
use super::sync::apply::ApplyLoop;
use super::sync::failure::Failure;
use super::updates::Updates;
use super::upgradeable::Upgradeable;
use crate::release::Release;

/// The condition that some releases have as a preview.
const ISSUES: &str = "ReconciliationIssues";

/// The inputs of a status.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) apply: &'a ApplyLoop,
    /// The image of the operator's own release, whose payload is on its machine.
    pub(super) own_image: &'a str,
    /// The last attempt to load a payload.
    pub(super) load: &'a LoadResult,
    pub(super) capabilities: &'a Capabilities,
    pub(super) behaviour: Behaviour,
    pub(super) updates: &'a Updates,
    pub(super) upgradeable: &'a Upgradeable,
    /// Whether the cluster has a preview feature set.
    pub(super) previews: bool,
    /// Validation errors of the spec.
    pub(super) invalid: &'a [String],
}

/// The ClusterVersion with its new status. `None` if the status is unchanged.
pub(super) fn updated_object(cluster_version: &Object, report: &Report<'_>, now: Time) -> Option<Value> {
    let status = status(cluster_version, report, now);
    (status != cluster_version["status"]).then(|| {
        let fields = cluster_version.as_object().into_iter().flatten();
        let others =
            fields.filter(|(name, _)| *name != "status").map(|(name, value)| (name.clone(), value.clone()));
        Value::Object(others.chain([("status".to_owned(), status)]).collect())
    })
}

/// The new status: fields that the operator computes, and unknown fields unchanged.
fn status(cluster_version: &Object, report: &Report<'_>, now: Time) -> Value {
    let work = &report.apply.work;
    let with_capabilities = report.behaviour.has_capabilities;
    let computed = [
        ("desired", report.updates.desired(&work.release)),
        ("observedGeneration", json!(work.generation)),
        ("versionHash", json!(report.apply.payload.hash)),
        // Operators without capabilities drop those in the status.
        ("capabilities", if with_capabilities { report.capabilities.status() } else { Value::Null }),
    ];
    let is_computed = |field: &str| computed.iter().any(|(name, _)| *name == field);
    let before = cluster_version["status"].as_object().into_iter().flatten();
    let unchanged =
        before.filter(|(name, _)| !is_computed(name)).map(|(name, value)| (name.clone(), value.clone()));
    let mut status: Map<String, Value> = unchanged.collect();
    let computed = computed.into_iter().filter(|(_, value)| !value.is_null());
    status.extend(computed.map(|(name, value)| (name.to_owned(), value)));
    let mut status = Value::Object(status);
    let retrieved = report.updates.write_status(cluster_version, &mut status);
    let version = work.release.version.to_string();
    let mut entries = take_list(&mut status, "history");
    // The risks in the history belong to the last loaded payload. As long as that is another target, rejected
    // or not yet applied, they are cleared, even those of the current release (`syncStatus`).
    let is_of_other = match report.load {
        LoadResult::Failed { .. } => true,
        LoadResult::Loaded { image, .. } => *image != work.release.image && image != report.own_image,
        LoadResult::Untried => false,
    };
    let accepted_risks = if is_of_other { Some("") } else { work.accepted_risks.as_deref() };
    let applied = Applied {
        version: &version,
        image: &work.release.image,
        completed: report.apply.progress.completed > 0,
        verified: work.verified,
        accepted_risks: accepted_risks.filter(|_| report.behaviour.records_risks),
    };
    let pruning = if report.behaviour.prunes_by_weight { Pruning::ByWeight } else { Pruning::ByAge };
    history::merge(&mut entries, applied, pruning, now);
    status["history"] = Value::Array(entries);
    let mut conditions = take_list(&mut status, "conditions");
    set_conditions(&mut conditions, report, retrieved, &version, now);
    status["conditions"] = Value::Array(conditions);
    status
}

/// The ClusterVersion after too many failed status updates (`syncFailingStatus`): the stored object plus the
/// error.
pub(super) fn write_failing(cluster_version: &Object, own: &Release, error: &str, now: Time) -> Value {
    let mut object = cluster_version.to_value();
    let status = &mut object["status"];
    let mut entries = take_list(status, "history");
    let version = own.version.to_string();
    let applied = Applied {
        version: &version,
        image: &own.image,
        completed: false,
        verified: false,
        accepted_risks: None,
    };
    let pruning =
        if Behaviour::for_release(own).prunes_by_weight { Pruning::ByWeight } else { Pruning::ByAge };
    history::merge(&mut entries, applied, pruning, now);
    status["history"] = Value::Array(entries);
    let mut conditions = take_list(status, "conditions");
    let progressing = condition::find(&conditions, "Progressing")
        .map_or_else(|| Condition::new("Progressing", "False", "", ""), Condition::from_value);
    let message = format!("Error ensuring the cluster version is up to date: {error}");
    for condition in [
        Condition::new("Available", "False", "", ""),
        Condition::new("Failing", "True", "", error),
        Condition { message, ..progressing },
    ] {
        condition::set(&mut conditions, &condition, now);
    }
    status["conditions"] = Value::Array(conditions);
    object
}

fn take_list(status: &mut Value, field: &str) -> Vec<Value> {
    match status.get_mut(field).map(Value::take) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

fn set_conditions(
    conditions: &mut Vec<Value>,
    report: &Report<'_>,
    retrieved: Option<Condition>,
    version: &str,
    now: Time,
) {
    let apply = report.apply;
    // New conditions are appended in the order in which they are set.
    if let Some(retrieved) = retrieved {
        condition::set(conditions, &retrieved, now);
    }
    report.upgradeable.write_conditions(conditions, now);
    let mut wanted = Vec::new();
    if report.invalid.is_empty() {
        condition::remove(conditions, "Invalid");
    } else {
        wanted.push(invalid(report.invalid));
    }
    if report.behaviour.has_capabilities {
        wanted.push(implicit_capabilities(report.capabilities));
    }
    wanted.extend(report.load.condition());
    if apply.progress.completed > 0 {
        wanted.push(Condition::new("Available", "True", "", format!("Done applying {version}")));
    } else if condition::find(conditions, "Available").is_none() {
        wanted.push(Condition::new("Available", "False", "", ""));
    }
    wanted.push(failing(apply, report.behaviour, now));
    wanted.push(progressing(apply, report.behaviour, version, !report.invalid.is_empty(), now));
    if report.previews && report.behaviour.previews_issues {
        wanted.push(issues(apply.progress.failure.as_ref()));
    } else {
        condition::remove(conditions, ISSUES);
    }
    // Former releases had this condition.
    condition::remove(conditions, "ImplicitlyEnabled");
    if condition::find(conditions, "RetrievedUpdates").is_none() {
        wanted.push(Condition::new("RetrievedUpdates", "False", "", ""));
    }
    for condition in wanted {
        condition::set(conditions, &condition, now);
    }
}

/// The condition ReconciliationIssues: reports a failure that Failing may still suppress.
fn issues(failure: Option<&Failure>) -> Condition {
    match failure {
        None => Condition::new(ISSUES, "False", "NoIssues", "No issues found during reconciliation"),
        Some(failure) => {
            let message = format!("Issues found during reconciliation: {}", failure.message);
            Condition::new(ISSUES, "True", "IssuesFound", message)
        }
    }
}

fn implicit_capabilities(capabilities: &Capabilities) -> Condition {
    let implicit: Vec<&str> = capabilities.implicit().iter().map(String::as_str).collect();
    if implicit.is_empty() {
        let message = "Capabilities match configured spec";
        return Condition::new("ImplicitlyEnabledCapabilities", "False", "AsExpected", message);
    }
    let message = format!("The following capabilities could not be disabled: {}", implicit.join(", "));
    Condition::new("ImplicitlyEnabledCapabilities", "True", "CapabilitiesImplicitlyEnabled", message)
}

fn invalid(errors: &[String]) -> Condition {
    let message = match errors {
        [one] => format!("The cluster version is invalid: {one}"),
        // Unlike other lists of errors, this one ends with a line break.
        several => format!("The cluster version is invalid:\n* {}\n", several.join("\n* ")),
    };
    Condition::new("Invalid", "True", "InvalidClusterVersion", message)
}
