//! `oc adm upgrade rollback`: returns to the previous release within the same minor.

use semver::Version;
use windtunnel_core::Object;

use super::cluster_version::{Mode, Release, Update, desired};
use super::outcome::{CommandOutput, CommandStep, Patch, Success};
use super::{conditions, semantic_version};

/// Requests a rollback to the previous release.
pub(super) fn rollback(cluster_version: &Object, output: CommandOutput) -> CommandStep {
    match previous(cluster_version) {
        Err(error) => CommandStep::Done(output.fail(&error)),
        Ok(previous) => {
            let Release { version, image, .. } = previous;
            // The patch omits accepted risks, so a merge patch keeps them.
            let mode = Mode::without_preflight(cluster_version);
            let update = Update { version, image, mode, ..Update::default() };
            let from = desired(cluster_version).version;
            CommandStep::Patch(Patch {
                body: format!("{{\"spec\":{{\"desiredUpdate\": {}}}}}", update.json()),
                output,
                success: Success::Line(format!("Requested rollback from {from} to {version}")),
                unable: "Unable to rollback",
            })
        }
    }
}

/// Returns the release to roll back to, or the reason why a rollback is impossible. Partial updates count
/// too.
fn previous(cluster_version: &Object) -> Result<Release<'_>, String> {
    let now = desired(cluster_version);
    let current = semantic_version::parse(now.version)
        .map_err(|error| format!("invalid ClusterVersion status.desired.version: {error}"))?;
    let entries = cluster_version.list("/status/history").iter().map(Release::from_value);
    let Some(found) = entries.into_iter().find(|e| e.version != now.version || e.image != now.image) else {
        return Err(format!(
            "no previous version found in ClusterVersion's status.history besides the current {} ({}).",
            now.version, now.image
        ));
    };
    let previous = semantic_version::parse(found.version)
        .map_err(|error| format!("previous version {:?} invalid SemVer: {error}", found.version))?;
    may_go_back(&previous, found.image, &current, now.image)?;
    let Some(progressing) = conditions::find(cluster_version, "Progressing") else {
        return Err(
            "no current Progressing info, see `oc describe clusterversion` for more details.\n".to_owned()
        );
    };
    if progressing.status != "False" {
        return Err(format!(
            "unable to rollback while an update is Progressing={}: {}: {}.",
            progressing.status, progressing.reason, progressing.message
        ));
    }
    Ok(found)
}

fn may_go_back(previous: &Version, from: &str, current: &Version, at: &str) -> Result<(), String> {
    if previous.cmp_precedence(current).is_ge() {
        return Err(format!(
            "previous version {previous} ({from}) is greater than or equal to current version {current} ({at}).  Use 'oc adm upgrade ...' to update, and not this rollback command."
        ));
    }
    if (previous.major, previous.minor) != (current.major, current.minor) {
        return Err(format!(
            "{previous} is less than the current target {current} and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended."
        ));
    }
    Ok(())
}
