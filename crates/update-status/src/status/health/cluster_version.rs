//! Problems that the ClusterVersion reports: the update fails, or it interrupted an earlier update.

use windtunnel_core::clock::Time;
use windtunnel_core::{Object, condition};

use super::{Impact, Insight, Level, RUNBOOKS};
use crate::status::go_time::moment;
use crate::status::history::History;

const HISTORY: &str = "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html#gathering-clusterversion-history-cli_troubleshooting_updates";

/// The insight that the cluster-version operator fails, may fail, or does not report it.
pub(super) fn failing(cluster_version: &Object, now: Time) -> Option<Insight> {
    let name = cluster_version.name();
    let insight = |started: Time, summary: String, description: &str| Insight {
        started,
        level: Level::Warning,
        impact: Impact::UpdateStalled,
        summary,
        description: description.to_owned(),
        reference: format!("{RUNBOOKS}/ClusterOperatorDegraded.md"),
        resource: resource(name),
    };
    let Some(failing) = condition::of(cluster_version, "Failing") else {
        return Some(insight(
            now,
            format!("Cluster Version {name} has no Failing condition"),
            "Current status of Cluster Version reconciliation is unclear.  See 'oc -n openshift-cluster-version logs -l k8s-app=cluster-version-operator --tail -1' to debug.",
        ));
    };
    let text = |field: &str| failing[field].as_str().unwrap_or_default();
    let verb = match text("status") {
        "False" => return None,
        "Unknown" => "may be",
        _ => "is",
    };
    let summary =
        format!("Cluster Version {name} {verb} failing to proceed with the update ({})", text("reason"));
    Some(insight(moment(failing, "lastTransitionTime"), summary, text("message")))
}

/// The insight that the update interrupted another one.
pub(super) fn interrupted(cluster_version: &Object) -> Option<Insight> {
    let history = History::of(cluster_version);
    let previous = history.interrupted()?;
    Some(Insight {
        started: history.started()?,
        level: Level::Warning,
        impact: Impact::None,
        summary: format!(
            "Previous update to {previous} never completed, last complete update was {}",
            history.last_completed_before_previous()
        ),
        description: format!(
            "Current update to {} was initiated while the previous update to version {previous} was still in progress",
            history.current_version_or_unknown()
        ),
        reference: HISTORY.to_owned(),
        resource: resource(cluster_version.name()),
    })
}

fn resource(name: &str) -> String {
    format!("clusterversions.config.openshift.io: {name}")
}
