//! The precondition that rejects updates to another minor while Upgradeable is False.

use semver::Version;
use windtunnel_core::Object;
use windtunnel_core::condition::{self, Condition};

use super::{KIND, checks, completed_version, has_overrides};
use crate::cvo::behaviour::Behaviour;

/// The reason for a rejection or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cvo) struct PreconditionError {
    pub(in crate::cvo) reason: String,
    pub(in crate::cvo) message: String,
    /// Whether it rejects the update.
    pub(in crate::cvo) blocks: bool,
}

/// Returns whether Upgradeable is False, so that an update must be judged.
pub(in crate::cvo) fn refuses(cluster_version: &Object) -> bool {
    condition::find_in_status(cluster_version, KIND).is_some_and(|found| found["status"] == "False")
}

/// Judges an update to `target` of a cluster at `desired` or on its way there.
pub(in crate::cvo) fn judge(
    behaviour: Behaviour,
    cluster_version: &Object,
    desired: &Version,
    target: &Version,
) -> Option<PreconditionError> {
    let completed = completed_version(cluster_version).parse::<Version>().ok();
    let current = if behaviour.counts_from_desired { Some(desired) } else { completed.as_ref() }?;
    let condition = Condition::from_value(condition::find_in_status(cluster_version, KIND)?);
    if condition.status != "False" {
        return None;
    }
    let rejection = |condition: Condition| {
        Some(PreconditionError { reason: condition.reason, message: condition.message, blocks: true })
    };
    if line(target) > line(current) {
        return rejection(condition);
    }
    if !behaviour.overrides_block_patches && has_overrides(cluster_version) {
        return Some(unmanaged(checks::overrides_message(behaviour), current, target));
    }
    if behaviour.overrides_block_patches
        && let Some(overrides) = overrides(cluster_version, condition)
    {
        return rejection(overrides);
    }
    let is_progressing = condition::is_true(cluster_version, "Progressing");
    let warns = behaviour.warns_of_retargets && is_progressing && line(target) == line(current);
    completed.as_ref().filter(|_| warns).and_then(|completed| retarget(completed, current, target))
}

/// The warning about overrides that do not block the update.
fn unmanaged(overrides: &str, current: &Version, target: &Version) -> PreconditionError {
    let reason = checks::OVERRIDES_SET;
    let message = format!(
        "Retarget from {current} to {target} is not blocked by {reason}. But the cluster-version operator is not managing these resources; they are currently the responsibility of the agent that set the overrides: {overrides}"
    );
    PreconditionError { reason: reason.to_owned(), message, blocks: false }
}

fn line(version: &Version) -> (u64, u64) {
    (version.major, version.minor)
}

/// The condition about overrides: Upgradeable itself, or a separate one if there are several reasons.
fn overrides(cluster_version: &Object, upgradeable: Condition) -> Option<Condition> {
    if upgradeable.reason == checks::OVERRIDES_SET {
        return Some(upgradeable);
    }
    let separate = condition::find_in_status(cluster_version, "UpgradeableClusterVersionOverrides")?;
    Some(Condition::from_value(separate)).filter(|separate| separate.status == "False")
}

/// The warning about a new patch target during a minor or major update.
fn retarget(completed: &Version, current: &Version, target: &Version) -> Option<PreconditionError> {
    let (word, what) = match (current.major > completed.major, line(current) > line(completed)) {
        (true, _) => ("Major", "major"),
        (false, true) => ("Minor", "minor"),
        (false, false) => return None,
    };
    Some(PreconditionError {
        reason: format!("{word}VersionClusterUpdateInProgress"),
        message: format!(
            "Retarget to {target} while a {what} version update from {completed} to {current} is in progress"
        ),
        blocks: false,
    })
}
