//! `oc adm upgrade channel`: sets or clears the channel.

use serde_json::json;
use windtunnel_core::Object;

use super::cluster_version::{channels, desired};
use super::outcome::{CommandOutput, CommandStep, Patch, Success};

/// The requested channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Channel {
    /// The name; empty to clear the channel.
    pub(super) name: String,
    /// `--allow-explicit-channel`.
    pub(super) allow_explicit: bool,
}

/// Patches the channel, unless it is unchanged or the current release does not list it.
pub(super) fn channel(wanted: &Channel, cluster_version: &Object, mut output: CommandOutput) -> CommandStep {
    let (name, current) = (wanted.name.as_str(), cluster_version.text("/spec/channel"));
    if name == current {
        output.print(&match name {
            "" => "info: Cluster channel is already clear (no change)".to_owned(),
            _ => format!("info: Cluster is already in {name} (no change)"),
        });
        return CommandStep::Done(output);
    }
    if let Err(error) = judge(wanted, current, cluster_version, &mut output) {
        return CommandStep::Done(output.fail(&error));
    }
    if name.is_empty() {
        output.warn(&format!(
            "warning: Clearing channel {current:?}; cluster will no longer request available update recommendations."
        ));
    }
    CommandStep::Patch(Patch {
        body: format!("{{\"spec\":{{\"channel\": {}}}}}", json!(name)),
        output,
        success: Success::Silent,
        unable: "unable to set channel",
    })
}

/// Checks the channel against the channels that list the current release. If there are none, every channel is
/// allowed.
fn judge(
    wanted: &Channel,
    current: &str,
    cluster_version: &Object,
    output: &mut CommandOutput,
) -> Result<(), String> {
    let (name, known) = (wanted.name.as_str(), channels(cluster_version));
    let available = known.join(", ");
    if known.is_empty() {
        if !name.is_empty() {
            let version = desired(cluster_version).version;
            output.warn(&format!(
                "warning: No channels known to be compatible with the current version {version:?}; unable to validate {name:?}. Setting the update channel to {name:?} anyway."
            ));
        }
    } else if name.is_empty() {
        if known.contains(&current) && !wanted.allow_explicit {
            return Err(format!(
                "You are requesting to clear the update channel. The current channel {current:?} is one of the available channels, you must pass --allow-explicit-channel to continue"
            ));
        }
    } else if !known.contains(&name) {
        if !wanted.allow_explicit {
            return Err(format!(
                "the requested channel {name:?} is not one of the available channels ({available}), you must pass --allow-explicit-channel to continue"
            ));
        }
        output.warn(&format!(
            "warning: The requested channel {name:?} is not one of the available channels ({available}). You have used --allow-explicit-channel to proceed anyway. Setting the update channel to {name:?}."
        ));
    }
    Ok(())
}
