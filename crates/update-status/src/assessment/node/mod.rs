//! Assesses a node: whether it is updated, is updating, can run pods, or has failed to update.

mod availability;
mod fields;
mod insight;
pub mod phase;
mod unavailable_condition;

pub use availability::UnavailableReason;
pub(crate) use availability::{first_start, joined, shortened, unavailable_reasons};
pub(crate) use fields::{MASTER, WORKER, pool_object_of, release_in};
pub use fields::{Node, Pool, pool_of, release_of};
pub use insight::{assess, upstream};
use phase::Phase;
pub use unavailable_condition::UnavailableCondition;

/// The update state of a node, as counted by its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted for itself")]
pub struct NodeState {
    /// The update phase.
    pub phase: Phase,
    /// Whether the update is in progress, including when the daemon has just finished.
    pub is_updating: bool,
    /// Whether it runs the target version.
    pub is_updated: bool,
    /// The update phase by MachineConfigs alone: any one of the newest release is a target, even if it is not
    /// the pool's.
    pub rollout: Phase,
    /// Whether it can run pods and its daemon is idle, regardless of its update.
    pub is_available: bool,
    /// Whether the machine-config daemon failed.
    pub is_degraded: bool,
}

impl NodeState {
    /// Returns the state of a node of `pool`.
    pub fn compute(node: &Node, pool: &Pool, releases: Releases<'_>) -> Self {
        Self::of_progress(node, pool, releases, progress_in_pool(node, pool, releases))
    }

    fn of_progress(node: &Node, pool: &Pool, releases: Releases<'_>, progress: Progress) -> Self {
        Self {
            phase: phase(node, pool, progress),
            is_updating: progress == Progress::Updating,
            is_updated: progress == Progress::Updated,
            rollout: phase(node, pool, progress_by_configs(node, releases)),
            is_available: unavailable_reasons(node, pool).is_empty(),
            is_degraded: failure(node).is_some(),
        }
    }

    /// Returns whether the update is in progress, and the daemon has not just finished.
    pub fn is_in_progress(self) -> bool {
        self.phase.is_in_progress()
    }

    /// Returns whether the node cannot run pods for another reason than its update.
    pub fn is_troubled(self) -> bool {
        !self.is_available && !self.is_updating
    }
}

/// Releases of MachineConfigs and of the cluster.
#[derive(Clone, Copy)]
pub struct Releases<'a> {
    /// Returns the release version of the MachineConfig with this name.
    pub of: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The version that the cluster runs or is updating to; empty if unknown.
    pub newest: &'a str,
    /// Whether the cluster changes only its architecture, not its release.
    pub migrates: bool,
}

/// The progress of a node towards the newest release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The node is updated.
    Updated,
    /// The update is in progress.
    Updating,
    /// The update has not started.
    Behind,
}

/// Returns the version that a node runs, if it is known.
pub(crate) fn version<'a>(node: &Node, releases: Releases<'a>) -> Option<&'a str> {
    (releases.of)(node.annotation("currentConfig"))
}

/// Returns the progress by MachineConfigs alone, like the upstream controller.
fn progress_by_configs(node: &Node, releases: Releases<'_>) -> Progress {
    let (current, desired) = (node.annotation("currentConfig"), node.find_annotation("desiredConfig"));
    let Some(version) = version(node, releases) else { return Progress::Behind };
    if version == releases.newest && desired.is_none_or(|desired| desired == current) {
        Progress::Updated
    } else if desired.and_then(releases.of) == Some(releases.newest) {
        Progress::Updating
    } else {
        Progress::Behind
    }
}

/// Returns the progress, taking the pool's MachineConfig into account, like `oc`. It differs from
/// [`progress_by_configs`]:
///
/// * The node is updating only if its target is the pool's MachineConfig, and it is updated once it runs the
///   newest release, whatever its desired MachineConfig.
/// * During a change of architecture, it is updated with the pool's MachineConfig.
fn progress_in_pool(node: &Node, pool: &Pool, releases: Releases<'_>) -> Progress {
    let (current, desired) = (node.annotation("currentConfig"), node.find_annotation("desiredConfig"));
    let Some(version) = version(node, releases) else { return Progress::Behind };
    let is_wanted = pool.is_target_config(desired.unwrap_or_default());
    let is_settled = desired.is_none_or(|desired| desired == current && is_wanted);
    if version == releases.newest && (!releases.migrates || is_settled) {
        Progress::Updated
    } else if desired.is_some_and(|desired| desired != current) && is_wanted {
        progress_by_configs(node, releases)
    } else {
        Progress::Behind
    }
}

fn phase(node: &Node, pool: &Pool, progress: Progress) -> Phase {
    match (progress, node.annotation("state")) {
        (Progress::Updating, _) if is_draining(node) => Phase::Draining,
        (Progress::Updating, "Rebooting") => Phase::Rebooting,
        (Progress::Updating, "Done") | (Progress::Updated, _) => Phase::Updated,
        (Progress::Updating, _) => Phase::Updating,
        (Progress::Behind, _) if pool.is_paused() => Phase::Paused,
        (Progress::Behind, _) => Phase::Pending,
    }
}

/// Returns whether the daemon waits for a drain. `desiredDrain` is `<drain or uncordon>-<MachineConfig>`.
fn is_draining(node: &Node) -> bool {
    let (desired, applied) = (node.annotation("desiredDrain"), node.annotation("lastAppliedDrain"));
    let drains = desired != applied && desired.split('-').next() == Some("drain");
    !desired.is_empty() && !applied.is_empty() && (drains || node.annotation("state") == "Done")
}

/// Returns why the daemon failed, if it did; empty if it reports no reason.
pub(crate) fn failure(node: &Node) -> Option<&str> {
    let failed = has_failed(node) && !node.annotation("desiredConfig").is_empty();
    failed.then(|| node.annotation("reason"))
}

fn has_failed(node: &Node) -> bool {
    matches!(node.annotation("state"), "Degraded" | "Unreconcilable")
}

#[cfg(test)]
mod tests;
