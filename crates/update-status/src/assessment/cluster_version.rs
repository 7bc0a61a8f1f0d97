//! Assesses a ClusterVersion for its status insight: whether the control plane is updating, its versions and
//! its start.
//!
//! The rules of [`upstream`], their order and their texts are those of the update status controller that was
//! part of the cluster-version operator until April 2025 (`pkg/updatestatus`, `assessClusterVersion`).
//! [`assess`] refines what upstream reports the same for every update.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::{Condition, find_in_status, is_true};
use windtunnel_core::name_of;

use super::history::{History, version};
use super::progress::Progress;
use super::time::{ZERO_TIME, time_field};
use crate::insight::{
    Assessment, ClusterVersionStatusInsight, ControlPlaneUpdateVersions, InsightCondition, ResourceRef,
    Version, VersionMetadata, VersionMetadataKey,
};

/// The assumed duration of any update.
const UPDATE_ESTIMATE: SignedDuration = SignedDuration::from_mins(60);

/// Whether the control plane is updating, with start and end.
struct Updating {
    status: String,
    reason: &'static str,
    message: String,
    started_at: Option<Time>,
    completed_at: Option<Time>,
}

/// Assesses a ClusterVersion whose operators are at `progress`, like [`upstream`], except that
///
/// * `completion` is the percentage of updated operators, and the estimate follows from it as in
///   `oc adm upgrade status`; there is no estimate once the update is complete,
/// * an update that fails or is stalled is `Degraded`.
pub fn assess(
    cluster_version: &Value,
    progress: Option<&Progress>,
    now: Time,
) -> ClusterVersionStatusInsight {
    let mut insight = upstream(cluster_version, now);
    if insight.assessment != Assessment::Progressing {
        insight.estimated_completed_at = None;
        return insight;
    }
    if let Some(progress) = progress.filter(|progress| progress.total > 0) {
        // All operators can be updated before the cluster-version operator reports completion.
        insight.completion = progress.completion().min(99);
        insight.estimated_completed_at = Some(after(now, progress.remaining));
    }
    if is_true(cluster_version, "Failing") || progress.is_some_and(Progress::is_stalled) {
        insight.assessment = Assessment::Degraded;
    }
    insight
}

/// Returns whether the control plane is updating: `Progressing=True`.
pub fn is_updating(cluster_version: &Value) -> bool {
    is_true(cluster_version, "Progressing")
}

/// Returns whether the cluster is updating: its control plane, or its workers afterwards. Otherwise,
/// `oc adm upgrade status` only reports that the cluster is not updating.
pub(crate) fn is_cluster_updating(cluster_version: &Value, has_outdated_workers: bool) -> bool {
    let has_progressing = || find_in_status(cluster_version, "Progressing").is_some();
    is_updating(cluster_version) || has_outdated_workers && has_progressing()
}

/// Returns the start for judging alerts; without a history, the last transition of `Progressing`.
pub fn alerts_count_since(cluster_version: &Value) -> Option<Time> {
    let history = History::of(cluster_version);
    if !history.is_empty() {
        return history.known_start();
    }
    let progressing = find_in_status(cluster_version, "Progressing")?;
    known_time(progressing, "lastTransitionTime")
}

/// Assesses a ClusterVersion like the upstream controller. The transition time of its one condition,
/// `Updating`, becomes `now`.
pub fn upstream(cluster_version: &Value, now: Time) -> ClusterVersionStatusInsight {
    let history = History::of(cluster_version);
    let [newest, _] = history.current_and_previous();
    let progressing = find_in_status(cluster_version, "Progressing").map(Condition::from_value);
    let updating = updating(progressing, newest);
    let assessment = match updating.status.as_str() {
        "True" => Assessment::Progressing,
        "False" => Assessment::Completed,
        _ => Assessment::Unknown,
    };
    ClusterVersionStatusInsight {
        conditions: vec![InsightCondition {
            kind: "Updating".to_owned(),
            status: updating.status,
            last_transition_time: Some(now),
            reason: updating.reason.to_owned(),
            message: updating.message,
        }],
        resource: ResourceRef::cluster_version(name_of(cluster_version)),
        assessment,
        versions: versions(history),
        completion: if assessment == Assessment::Completed { 100 } else { 0 },
        started_at: updating.started_at,
        completed_at: updating.completed_at,
        estimated_completed_at: estimate(updating.started_at),
    }
}

/// Returns the version that the cluster runs or is updating to; empty without a history.
pub fn target_version(cluster_version: &Value) -> &str {
    History::of(cluster_version).current_version().unwrap_or_default()
}

/// Returns whether the update changes only the architecture, not the version.
pub fn is_architecture_migration(cluster_version: &Value) -> bool {
    is_updating(cluster_version) && History::of(cluster_version).is_multi_arch_migration()
}

/// Determines whether the control plane is updating from the condition `Progressing` and the newest history
/// item; unknown if the two contradict each other.
fn updating(progressing: Option<Condition>, newest: Option<&Value>) -> Updating {
    let undetermined = |message: &str| Updating {
        status: "Unknown".to_owned(),
        reason: "CannotDetermineUpdating",
        message: message.to_owned(),
        started_at: None,
        completed_at: None,
    };
    let Some(progressing) = progressing else {
        return undetermined("No Progressing condition in ClusterVersion");
    };
    let Some(newest) = newest else { return undetermined("Empty history in ClusterVersion") };
    let (state, started_at) = (text(newest, "state"), known_time(newest, "startedTime"));
    // An unreadable completion time still counts as present.
    let is_complete = newest["completionTime"].is_string();
    let completed_at = known_time(newest, "completionTime");
    let message = format!(
        "ClusterVersion has Progressing={}(Reason={}) | Message='{}'",
        progressing.status, progressing.reason, progressing.message
    );
    let determined = |status: &str, reason, started_at, completed_at| Updating {
        status: status.to_owned(),
        reason,
        message,
        started_at,
        completed_at,
    };
    match (progressing.status.as_str(), is_complete) {
        ("True", _) if state != "Partial" => {
            undetermined("Progressing=True in ClusterVersion but last history item is not Partial")
        }
        ("True", true) => {
            undetermined("Progressing=True in ClusterVersion but last history item has completion time")
        }
        ("True", false) => determined("True", "ClusterVersionProgressing", started_at, None),
        ("False", _) if state != "Completed" => {
            undetermined("Progressing=False in ClusterVersion but last history item is not completed")
        }
        ("False", false) => {
            undetermined("Progressing=False in ClusterVersion but not no completion in last history item")
        }
        ("False", true) => determined("False", "ClusterVersionNotProgressing", started_at, completed_at),
        (status, _) => determined(status, "CannotDetermineUpdating", None, None),
    }
}

/// Returns the versions from the history. If an installation is the only entry, its target is marked as such.
fn versions(history: History<'_>) -> ControlPlaneUpdateVersions {
    let marked = |entry: &Value, mark: Option<VersionMetadataKey>| Version {
        version: version(entry).to_owned(),
        metadata: mark.map(|key| VersionMetadata { key, value: String::new() }).into_iter().collect(),
    };
    match history.current_and_previous() {
        [None, _] => ControlPlaneUpdateVersions::default(),
        [Some(target), None] => ControlPlaneUpdateVersions {
            previous: Version::default(),
            target: marked(target, Some(VersionMetadataKey::Installation)),
        },
        [Some(target), Some(previous)] => {
            let partial = history.interrupted().map(|_| VersionMetadataKey::Partial);
            ControlPlaneUpdateVersions { previous: marked(previous, partial), target: marked(target, None) }
        }
    }
}

/// Returns a fixed time after the start; after the zero time if the start is unknown.
fn estimate(started_at: Option<Time>) -> Option<Time> {
    let start = started_at.unwrap_or(ZERO_TIME);
    start.checked_add(UPDATE_ESTIMATE).ok()
}

fn known_time(value: &Value, field: &str) -> Option<Time> {
    time_field(value, field).filter(|at| *at != ZERO_TIME)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2024-01-01T02:00:00Z";

    fn check(status: &Value, wanted: &Value) {
        let cluster_version = json!({"metadata": {"name": "version"}, "status": status});
        let insight = serde_json::to_value(upstream(&cluster_version, NOW.parse().unwrap())).unwrap();
        for (field, value) in wanted.as_object().unwrap() {
            assert_eq!(&insight[field], value, "{field} for {status}");
        }
    }

    fn item(version: &str, state: &str, completion: &Value) -> Value {
        json!({"version": version, "state": state, "startedTime": "2024-01-01T01:00:00Z", "completionTime": completion})
    }

    #[test]
    fn an_update_in_progress_has_both_versions_and_its_start() {
        check(
            &json!({
                "conditions": [{"type": "Progressing", "status": "True", "message": "Working towards 4.14.1"}],
                "history": [item("4.14.1", "Partial", &json!(null)), item("4.14.0", "Partial", &json!(NOW))],
            }),
            &json!({
                "assessment": "Progressing", "completion": 0,
                "startedAt": "2024-01-01T01:00:00Z", "completedAt": null,
                "estimatedCompletedAt": NOW,
                "versions": {
                    "previous": {"version": "4.14.0", "metadata": [{"key": "Partial"}]},
                    "target": {"version": "4.14.1"},
                },
                "conditions": [{
                    "type": "Updating", "status": "True", "lastTransitionTime": NOW,
                    "reason": "ClusterVersionProgressing",
                    "message": "ClusterVersion has Progressing=True(Reason=) | Message='Working towards 4.14.1'",
                }],
            }),
        );
    }

    #[test]
    fn a_finished_update_is_completed() {
        check(
            &json!({
                "conditions": [{"type": "Progressing", "status": "False"}],
                "history": [item("4.14.1", "Completed", &json!(NOW))],
            }),
            &json!({
                "assessment": "Completed", "completion": 100, "completedAt": NOW,
                "versions": {
                    "previous": {"version": ""},
                    "target": {"version": "4.14.1", "metadata": [{"key": "Installation"}]},
                },
            }),
        );
    }

    #[test]
    fn malformed_cluster_versions_are_unknown() {
        let malformed = [json!(null), json!([1]), json!("x"), json!({"history": {}, "conditions": 3})];
        for status in malformed {
            check(&status, &json!({"assessment": "Unknown", "startedAt": null, "completion": 0}));
        }
        let items =
            [json!([null]), json!([3, "x"]), json!([{"startedTime": 5, "completionTime": [], "state": {}}])];
        for history in items {
            for status in ["True", "False", "Unknown", ""] {
                let conditions = json!([null, 7, {"type": "Progressing", "status": status}]);
                check(
                    &json!({"conditions": conditions, "history": history}),
                    &json!({"assessment": "Unknown"}),
                );
            }
        }
        assert_eq!(upstream(&json!(null), NOW.parse().unwrap()).resource.name, "");
    }

    #[test]
    fn a_start_at_the_maximum_time_has_no_estimate() {
        let last = Time::MAX.to_string();
        let history = json!([{"state": "Partial", "startedTime": last}]);
        let conditions = json!([{"type": "Progressing", "status": "True"}]);
        check(
            &json!({"conditions": conditions, "history": history}),
            &json!({"assessment": "Progressing", "estimatedCompletedAt": null}),
        );
    }
}
