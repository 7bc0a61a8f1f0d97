//! The operator's ClusterOperator status.

use semver::Version;
use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::MACHINE_CONFIG_POOLS;
use windtunnel_core::{Object, View, cluster_operator};

use super::pools::PoolSyncError;
use super::{pools, skew};
use crate::manifests::MajorMinor;
use crate::mco::{boot_images, cgroup_mode};
use crate::operators::health::WORKING_TOWARDS;
use crate::release::Release;

/// Up to this minor, updating pools set Upgradeable to False.
const UPDATING_BLOCKS: MajorMinor = (4, 15);
/// Up to this minor Upgradeable reports kubelets that are older than the API server.
const REPORTS_SKEW: MajorMinor = (4, 17);
/// From this minor on there is a condition about evaluations.
const EVALUATES: MajorMinor = (4, 16);
/// The name in `status.versions` of the release that the operator has reached.
pub(super) const OPERATOR: &str = "operator";
/// The reason of Degraded if daemons were not rolled out in time. The next attempt clears it.
pub(super) const DAEMONS_FAILED: &str = "MachineConfigDaemonFailed";
const WELL: &str = "AsExpected";
/// The start of the message while the operator has nothing to update.
const CLUSTER_VERSION_IS: &str = "Cluster version is ";
const ON_CGROUP_V1: &str = "Cluster is using cgroup v1 and is not upgradable. Please update the `CgroupMode` in the `nodes.config.openshift.io` \
                            object to 'v2'. Once upgraded, the cluster cannot be changed back to cgroup v1";

/// The operator's progress with a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report<'a> {
    /// It works on the release.
    Working,
    /// It waits for pools.
    Waiting(&'a str),
    /// It failed and will retry: the reason of Degraded, and the error.
    Failed(&'static str, &'a str),
    /// Everything has this release, in these versions.
    Done(&'a [(String, String)]),
}

/// The ClusterOperator's status for a release.
pub(super) fn status(
    object: &Object,
    report: &Report<'_>,
    release: &Release,
    view: &View,
    now: Time,
) -> Value {
    let mut status = object["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    for condition in conditions(object, report, release, view) {
        condition::set(&mut list, &condition, now);
    }
    status["conditions"] = Value::Array(list);
    if let Report::Done(versions) = report {
        let versions = versions.iter().map(|(name, version)| json!({ "name": name, "version": version }));
        status["versions"] = versions.collect();
    }
    let mut extension = json!({});
    for pool in view.list(&MACHINE_CONFIG_POOLS) {
        extension[pool.name()] = json!(pools::extension_text(pool));
    }
    if let Report::Waiting(why) | Report::Failed(_, why) = report {
        extension["lastSyncError"] = json!(why);
    }
    status["extension"] = extension;
    status
}

fn conditions(object: &Object, report: &Report<'_>, release: &Release, view: &View) -> Vec<Condition> {
    let (version, line) = (release.version.to_string(), release.line());
    let changes = reported_version(object) != Some(&version);
    let progressing = |status: &str, message: String| Condition::new("Progressing", status, "", message);
    let mut all = vec![upgradeable(view, &release.version, line)];
    match report {
        Report::Working | Report::Waiting(_) if changes => {
            all.push(progressing("True", format!("{WORKING_TOWARDS}{version}")));
        }
        // An update was rolled back before the operator completed it.
        Report::Working | Report::Waiting(_) => {
            all.push(progressing("False", format!("{CLUSTER_VERSION_IS}{version}")));
        }
        Report::Failed(reason, why) => {
            let progress = if condition::is_true(object, "Progressing") {
                progressing("True", format!("Unable to apply {version}"))
            } else {
                progressing("False", format!("Error while reconciling {version}"))
            };
            let message = if changes {
                format!("Unable to apply {version}: {why}")
            } else {
                format!("Failed to resync {version} because: {why}")
            };
            all.extend([progress, Condition::new("Degraded", "True", reason, message)]);
        }
        Report::Done(versions) => {
            all.push(progressing("False", format!("{CLUSTER_VERSION_IS}{version}")));
            all.push(Condition::new("Degraded", "False", "", ""));
            let deployed: Vec<_> =
                versions.iter().map(|(name, version)| format!("{{{name} {version}}}")).collect();
            let message = format!("Cluster has deployed [{}]", deployed.join(" "));
            all.push(Condition::new("Available", "True", WELL, message));
        }
    }
    let degraded = condition::find_in_status(object, "Degraded");
    let is_over = degraded.is_some_and(|degraded| degraded["reason"] == DAEMONS_FAILED)
        && matches!(report, Report::Working | Report::Waiting(_));
    if degraded.is_none() || is_over {
        all.push(Condition::new("Degraded", "False", "", ""));
    }
    if line >= EVALUATES {
        all.push(Condition::new("EvaluationConditionsDetected", "False", WELL, ""));
    }
    all
}

/// Whether a condition in a new status is a report about pools or the cluster, not that of an injected fault.
/// Upgradeable is always a new one.
pub(super) fn is_own(condition: &Condition) -> bool {
    condition.kind == "Upgradeable"
        || condition.kind == "Degraded"
            && (condition.reason == DAEMONS_FAILED
                || PoolSyncError::REASONS.contains(&condition.reason.as_str()))
}

/// Returns whether a release sets Upgradeable to False with cgroup v1: 4.18 from 4.18.6 on, and 4.19.
fn rejects_cgroup_v1(version: &Version) -> bool {
    match (version.major, version.minor) {
        (4, 18) => version.patch >= 6,
        (4, minor) => minor == 19,
        _ => false,
    }
}

/// The condition Upgradeable. Paused pools do not change it.
fn upgradeable(view: &View, version: &Version, line: MajorMinor) -> Condition {
    let any = |kind: &str| view.list(&MACHINE_CONFIG_POOLS).any(|pool| condition::is_true(pool, kind));
    let blocked = |reason: &str, message: &str| Condition::new("Upgradeable", "False", reason, message);
    if rejects_cgroup_v1(version) && cgroup_mode(view) == "v1" {
        return blocked("ClusterOnCgroupV1", ON_CGROUP_V1);
    }
    if any("Degraded") {
        return blocked(
            "DegradedPool",
            "One or more machine config pools are degraded, please see `oc get mcp` for further details and resolve before upgrading",
        );
    }
    if let Some(message) = boot_images::guard::objection(view) {
        return blocked("ClusterBootImageSkewError", &message);
    }
    if line <= UPDATING_BLOCKS && any("Updating") {
        return blocked(
            "PoolUpdating",
            "One or more machine config pools are updating, please see `oc get mcp` for further details",
        );
    }
    if line <= REPORTS_SKEW
        && !any("Updating")
        && let Some((reason, message)) = skew::skew_message(view)
    {
        return Condition::new("Upgradeable", "True", reason, message);
    }
    Condition::new("Upgradeable", "True", WELL, "")
}

/// The release in the ClusterOperator's versions.
pub(super) fn reported_version(object: &Object) -> Option<&str> {
    cluster_operator::version_of(object, OPERATOR)
}
