//! The requested release is not accepted: its payload cannot be retrieved, it has no trusted signature, or
//! the cluster does not meet its preconditions.

use windtunnel_core::condition::find_in_status;

use super::Facts;
use super::findings::{Cause, Findings, HealthDraft};
use crate::assessment::dated_condition::DatedCondition;
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

const UPDATING_BY_CLI: &str = "https://docs.openshift.com/container-platform/latest/updating/updating_a_cluster/updating-cluster-cli.html";

/// The pod that fetches the payload fails.
pub(super) const UNRETRIEVABLE: Cause = Cause {
    name: "Payload cannot be retrieved",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: UPDATING_BY_CLI,
};

/// The release has no trusted signature.
pub(super) const UNVERIFIED: Cause = Cause {
    name: "Release cannot be verified",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: UPDATING_BY_CLI,
};

/// The cluster does not meet the preconditions.
pub(super) const PRECONDITIONS: Cause = Cause {
    name: "Preconditions are not met",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: "https://docs.openshift.com/container-platform/latest/updating/preparing_for_updates/updating-cluster-prepare.html",
};

/// Any other reason.
pub(super) const REFUSED: Cause = Cause {
    name: "Release is not accepted",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: UPDATING_BY_CLI,
};

const STAYS: &str = "The cluster stays at the release it runs.";
const RETRIES: &str = "The cluster-version operator retries until the cause is fixed; `oc adm upgrade \
                       --clear` cancels the update.";

/// Adds the insight while the cluster-version operator reports `ReleaseAccepted=False`. The description is
/// the condition's message, which usually has the message of the pod that fetches the payload. If the
/// operator only reports a deadline, the pod's problem is appended.
pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let Some(accepted) = find_in_status(facts.cluster_version, "ReleaseAccepted").map(DatedCondition::read)
    else {
        return;
    };
    if !accepted.has_status("False") {
        return;
    }
    let target = target(facts, &accepted.message);
    let is_unverified = accepted.message.contains("The update cannot be verified: ");
    let (cause, summary) = match accepted.reason.as_str() {
        "RetrievePayload" if is_unverified => {
            (&UNVERIFIED, format!("No trusted key has signed release {target}"))
        }
        "RetrievePayload" => (&UNRETRIEVABLE, format!("The payload of release {target} cannot be retrieved")),
        "PreconditionChecks" => {
            (&PRECONDITIONS, format!("The cluster does not meet the preconditions of release {target}"))
        }
        reason => (&REFUSED, format!("Release {target} is not accepted ({reason})")),
    };
    let mut parts = vec![accepted.message.as_str()];
    if cause == &UNRETRIEVABLE {
        let is_new = |problem: &&String| !accepted.message.contains(problem.as_str());
        parts.extend(facts.version_pods.iter().filter(is_new).map(String::as_str));
    }
    let advice = format!("{STAYS} {RETRIES}");
    parts.push(&advice);
    findings.add(HealthDraft {
        summary,
        description: parts.join(" | "),
        since: accepted.since,
        ..HealthDraft::new(cause, ResourceRef::cluster_version(facts.name()))
    });
}

/// Returns the release in question: as named in the message, else as requested.
fn target<'a>(facts: &Facts<'a>, message: &'a str) -> &'a str {
    let desired = &facts.cluster_version["spec"]["desiredUpdate"];
    let requested = |field: &str| desired[field].as_str().unwrap_or_default();
    [quoted(message, "version=\""), quoted(message, "image=\""), requested("version"), requested("image")]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or("requested")
}

/// Returns the text between `start` and the next quotation mark; empty if there is none.
fn quoted<'a>(message: &'a str, start: &str) -> &'a str {
    let rest = message.split_once(start).map_or("", |(_, rest)| rest);
    rest.split_once('"').map_or("", |(text, _)| text)
}
