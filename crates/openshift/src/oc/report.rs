//! `oc adm upgrade` alone: prints the cluster's conditions and available updates.

use windtunnel_core::Object;
use windtunnel_core::text::tabwriter::Columns;

use super::cluster_version::{NotRecommended, available, channels, not_recommended, sort};
use super::conditions::{self, indented, missing, reason_and_message};
use super::outcome::CommandOutput;
use super::semantic_version::newest_first;

/// The layout of lists of releases.
pub(super) const RELEASES: Columns = Columns { min_width: 14, padding: 1 };

/// Printed if there are no updates.
pub(super) const NO_UPDATES: &str = "No updates available. You may still upgrade to a specific release image with --to-image or wait for new updates to be available.";

pub(super) fn report(
    cluster_version: &Object,
    include_not_recommended: bool,
    mut output: CommandOutput,
) -> CommandOutput {
    state(cluster_version, &mut output);
    source(cluster_version, ["Upstream is unset", "Upstream"], &mut output);
    recommended_updates(cluster_version, &mut output);
    let mut found = not_recommended(cluster_version);
    if include_not_recommended {
        found.sort_by(|a, b| newest_first(a.release.version, b.release.version));
        known_issues(&found, &mut output);
    } else if !found.is_empty() {
        let other_status =
            found.iter().map(|update| &update.recommended.status).find(|status| *status != "False");
        let clause = other_status.map(|status| format!(", or where the recommended status is {status:?},"));
        let clause = clause.unwrap_or_default();
        output.print(&format!("\nAdditional updates which are not recommended{clause} for your cluster configuration are available, to view those re-run the command with --include-not-recommended."));
    }
    output
}

/// Prints the cluster's conditions. (Only `Failing` has a colon, as in the client.)
fn state(cluster_version: &Object, output: &mut CommandOutput) {
    match conditions::find(cluster_version, "Failing") {
        None => output.warn(&missing("Failing")),
        Some(failing) if failing.status != "False" => {
            output.print(&format!("Failing={}:\n\n{}\n", failing.status, reason_and_message(&failing)));
        }
        Some(_) => {}
    }
    match conditions::find(cluster_version, "Progressing").filter(|found| !found.message.is_empty()) {
        None => output.warn(&missing("Progressing")),
        Some(progressing) if progressing.status == "True" => {
            output.print(&format!("info: An upgrade is in progress. {}", progressing.message));
        }
        Some(progressing) => output.print(&progressing.message),
    }
    output.print("");
    let upgradeable =
        conditions::find(cluster_version, "Upgradeable").filter(|found| found.status == "False");
    let accepted =
        conditions::find(cluster_version, "ReleaseAccepted").filter(|found| found.status != "True");
    for condition in upgradeable.iter().chain(&accepted) {
        output.print(&format!(
            "{}={}\n\n{}\n",
            condition.kind,
            condition.status,
            reason_and_message(condition)
        ));
    }
}

/// Prints the update service and the channel. `unset` and `set` are the client's texts for a missing and a
/// configured update service.
pub(super) fn source(cluster_version: &Object, [unset, set]: [&str; 2], output: &mut CommandOutput) {
    let channel = cluster_version.text("/spec/channel");
    if channel.is_empty() {
        return;
    }
    output.print(&match cluster_version.text("/spec/upstream") {
        "" => format!("{unset}, so the cluster will use an appropriate default."),
        upstream => format!("{set}: {upstream}"),
    });
    let known = channels(cluster_version).join(", ");
    output.print(&match known.as_str() {
        "" => format!("Channel: {channel}"),
        _ => format!("Channel: {channel} (available channels: {known})"),
    });
}

fn recommended_updates(cluster_version: &Object, output: &mut CommandOutput) {
    let mut updates = available(cluster_version);
    sort(&mut updates);
    let unknown =
        conditions::find(cluster_version, "RetrievedUpdates").filter(|found| found.status == "False");
    if !updates.is_empty() {
        let rows = updates.iter().map(|to| format!("  {}\t{}", to.version, to.image));
        let rows: Vec<String> = std::iter::once("  VERSION\tIMAGE".to_owned()).chain(rows).collect();
        output.print("\nRecommended updates:\n");
        output.print(&RELEASES.layout(&rows.join("\n")));
    } else if unknown.is_none() {
        output.print(NO_UPDATES);
    }
    if let Some(unknown) = unknown {
        let what = if updates.is_empty() { "display" } else { "refresh" };
        output
            .warn(&format!("warning: Cannot {what} available updates:\n{}\n", reason_and_message(&unknown)));
    }
}

fn known_issues(updates: &[NotRecommended<'_>], output: &mut CommandOutput) {
    if updates.is_empty() {
        let none = "No updates which are not recommended based on your cluster configuration are available.";
        return output.print(&format!("\n{none}"));
    }
    output.print("\nUpdates with known issues:");
    for NotRecommended { release, recommended } in updates {
        output.print(&format!("\n  Version: {}\n  Image: {}", release.version, release.image));
        let message = indented(recommended.message.trim());
        output.print(&format!("  Reason: {}\n  Message: {message}", recommended.reason));
    }
}
