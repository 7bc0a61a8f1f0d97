//! `oc adm upgrade --clear`: cancels the requested update, and keeps accepted risks.

use windtunnel_core::Object;

use super::cluster_version::{Release, Update, accepted_risks};
use super::outcome::{CommandOutput, CommandStep, Patch, Success};

/// Clears the requested update, if there is one.
pub(super) fn clear(cluster_version: &Object, mut output: CommandOutput) -> CommandStep {
    let requested = &cluster_version["spec"]["desiredUpdate"];
    if requested.is_null() {
        output.print("info: No update in progress");
        return CommandStep::Done(output);
    }
    let risks = accepted_risks(cluster_version);
    let update = match risks {
        Some(_) => Update { accept_risks: risks, ..Update::default() }.json(),
        None => "null".to_owned(),
    };
    let Release { version, image, .. } = Release::from_value(requested);
    CommandStep::Patch(Patch {
        body: format!("{{\"spec\":{{\"desiredUpdate\":{update}}}}}"),
        output,
        success: Success::Cleared(version.to_owned(), image.to_owned()),
        unable: "Unable to cancel current rollout",
    })
}
