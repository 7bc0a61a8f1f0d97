//! `oc adm upgrade --clear` and `--clear-preflight`: cancel the requested update or preflight check, and keep
//! accepted risks.

use windtunnel_core::Object;

use super::cluster_version::{Mode, Release, Update, accepted_risks, is_preflight};
use super::outcome::{CommandOutput, CommandStep, Patch, Success};

/// Clears the requested update, if there is one.
pub(super) fn clear(cluster_version: &Object, mut output: CommandOutput) -> CommandStep {
    let requested = &cluster_version["spec"]["desiredUpdate"];
    if requested.is_null() {
        output.print("info: No update in progress");
        return CommandStep::Done(output);
    }
    let Release { version, image, .. } = Release::from_value(requested);
    CommandStep::Patch(Patch {
        body: body(cluster_version),
        output,
        success: Success::Cleared(version.to_owned(), image.to_owned()),
        unable: "Unable to cancel current rollout",
    })
}

/// Cancels the requested preflight check, if there is one.
pub(super) fn clear_preflight(cluster_version: &Object, mut output: CommandOutput) -> CommandStep {
    if !is_preflight(cluster_version) {
        output.print("info: No preflight check in progress");
        return CommandStep::Done(output);
    }
    let target = Release::from_value(&cluster_version["spec"]["desiredUpdate"]).name();
    CommandStep::Patch(Patch {
        body: body(cluster_version),
        output,
        success: Success::Line(format!("Cancelled preflight check of {target}")),
        unable: "Unable to cancel preflight check",
    })
}

fn body(cluster_version: &Object) -> String {
    let risks = accepted_risks(cluster_version);
    let mode = Mode::without_preflight(cluster_version);
    let update = match risks {
        Some(_) => Update { accept_risks: risks, mode, ..Update::default() }.json(),
        None => "null".to_owned(),
    };
    format!("{{\"spec\":{{\"desiredUpdate\":{update}}}}}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{ClusterView, Command, Gates};
    use super::*;

    /// The patch and the output of a command in a cluster that can be updated to 4.22.5.
    #[expect(clippy::needless_pass_by_value, reason = "callers write the values in place")]
    fn execute(words: &str, desired: Value) -> (String, String) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let object = Object::new(json!({
            "spec": { "desiredUpdate": desired },
            "status": {
                "desired": { "version": "4.22.1", "image": "quay.io/r@sha256:1" },
                "availableUpdates": [{ "version": "4.22.5", "image": "quay.io/r@sha256:5" }],
                "conditionalUpdates": [{
                    "release": { "version": "4.22.6", "image": "quay.io/r@sha256:6" },
                    "conditions": [{ "type": "Recommended", "status": "False", "reason": "R", "message": "m" }],
                }],
            },
        }));
        let command = match Command::read(&words, Gates::default()) {
            Ok(command) => command,
            Err(output) => return (String::new(), output.stderr),
        };
        match command.begin(&ClusterView { cluster_version: Some(&object), alerts: Ok(&[]) }) {
            CommandStep::Done(output) => (String::new(), output.stdout + &output.stderr),
            CommandStep::Patch(patch) => {
                let body = patch.body.clone();
                let output = patch.finish(Ok(&object));
                (body, output.stdout + &output.stderr)
            }
        }
    }

    #[test]
    fn a_preflight_check_has_a_mode_that_the_next_update_removes() {
        let update = |version: &str, digest: &str, rest: &str| {
            format!(
                "{{\"spec\":{{\"desiredUpdate\": {{\"architecture\":\"\",\"version\":\"{version}\",\"image\":\"quay.io/r@sha256:{digest}\",\"force\":false{rest}}}}}}}"
            )
        };
        let (body, output) = execute("--mode=preflight --to=4.22.5", Value::Null);
        assert_eq!(
            (body, output.as_str()),
            (update("4.22.5", "5", ",\"mode\":\"Preflight\""), "Requested preflight check of 4.22.5\n")
        );
        let (body, _) = execute("--mode preflight --to 4.22.6", json!({ "acceptRisks": [{ "name": "R" }] }));
        let rest = ",\"acceptRisks\":[{\"name\":\"R\"}],\"mode\":\"Preflight\"";
        assert_eq!(body, update("4.22.6", "6", rest), "an update with a risk can be checked");
        let (body, _) = execute("--to=4.22.5", json!({ "version": "4.22.6", "mode": "Preflight" }));
        assert_eq!(body, update("4.22.5", "5", ",\"mode\":null"));
        assert_eq!(execute("--to=4.22.5", json!({ "version": "4.22.6" })).0, update("4.22.5", "5", ""));
    }

    #[test]
    fn clear_preflight_ends_only_a_preflight_check() {
        let (body, output) =
            execute("--clear-preflight", json!({ "version": "4.22.5", "mode": "Preflight" }));
        assert_eq!(
            (body.as_str(), output.as_str()),
            ("{\"spec\":{\"desiredUpdate\":null}}", "Cancelled preflight check of 4.22.5\n")
        );
        let (body, output) = execute("--clear-preflight", json!({ "version": "4.22.5" }));
        assert_eq!((body.as_str(), output.as_str()), ("", "info: No preflight check in progress\n"));
    }

    #[test]
    fn rejects_flags_of_preflight_checks_that_do_not_fit() {
        for (words, expected) in [
            ("--mode=preflight", "error: --mode requires a target: add --to, --to-image or --to-latest\n"),
            ("--mode=fast --to=4.22.5", "error: --mode must be \"preflight\", not \"fast\"\n"),
            (
                "--clear-preflight --clear",
                "error: --clear-preflight may not be specified with any other flags\n",
            ),
        ] {
            assert_eq!(execute(words, Value::Null), (String::new(), expected.to_owned()), "{words}");
        }
    }
}
