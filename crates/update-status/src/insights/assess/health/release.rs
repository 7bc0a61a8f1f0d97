//! The release that was asked for is not accepted: its payload cannot be had, nobody vouches for it, or the cluster is
//! not fit for it.

use windtunnel_core::condition::of;

use super::Facts;
use super::cause::{Cause, Draft, Findings};
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};
use crate::insights::assess::dated::Dated;

const UPDATING_BY_CLI: &str = "https://docs.openshift.com/container-platform/latest/updating/updating_a_cluster/updating-cluster-cli.html";

/// The pod that fetches the payload fails.
pub(super) const UNRETRIEVABLE: Cause = Cause {
    name: "Payload cannot be retrieved",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: UPDATING_BY_CLI,
};

/// No signature that is trusted.
pub(super) const UNVERIFIED: Cause = Cause {
    name: "Release cannot be verified",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: UPDATING_BY_CLI,
};

/// The cluster is not fit for it.
pub(super) const PRECONDITIONS: Cause = Cause {
    name: "Preconditions are not met",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: "https://docs.openshift.com/container-platform/latest/updating/preparing_for_updates/updating-cluster-prepare.html",
};

/// Anything else.
pub(super) const REFUSED: Cause = Cause {
    name: "Release is not accepted",
    levels: &[ImpactLevel::Warning],
    impact: ImpactType::UpdateStalled,
    reference: UPDATING_BY_CLI,
};

const STAYS: &str = "The cluster stays at the release it runs.";
const RETRIES: &str = "Once the cause is mended the cluster-version operator retries by itself; `oc adm upgrade \
                       --clear` gives the update up.";

/// The insight while the cluster-version operator reports `ReleaseAccepted=False`. The condition's message is its
/// description; where a pod fetches the payload, it speaks there, and where the operator only tells of a deadline, the pod
/// itself is quoted.
pub(super) fn assess(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    let Some(accepted) = of(facts.cluster_version, "ReleaseAccepted").map(Dated::read) else { return };
    if !accepted.is("False") {
        return;
    }
    let target = target(facts, &accepted.message);
    let is_unverified = accepted.message.contains("The update cannot be verified: ");
    let (cause, summary) = match accepted.reason.as_str() {
        "RetrievePayload" if is_unverified => {
            (&UNVERIFIED, format!("Nobody who is trusted has signed release {target}"))
        }
        "RetrievePayload" => (&UNRETRIEVABLE, format!("The payload of release {target} cannot be retrieved")),
        "PreconditionChecks" => {
            (&PRECONDITIONS, format!("The cluster does not meet the preconditions of release {target}"))
        }
        reason => (&REFUSED, format!("Release {target} is not accepted ({reason})")),
    };
    let mut parts = vec![accepted.message.as_str()];
    if cause == &UNRETRIEVABLE {
        let told = |words: &&String| !accepted.message.contains(words.as_str());
        parts.extend(facts.version_pods.iter().filter(told).map(String::as_str));
    }
    let advice = format!("{STAYS} {RETRIES}");
    parts.push(&advice);
    findings.add(Draft {
        summary,
        description: parts.join(" | "),
        since: accepted.since,
        ..Draft::of(cause, ResourceRef::cluster_version(facts.name()))
    });
}

/// The release in question: as the message names it, else as it was asked for.
fn target<'a>(facts: &Facts<'a>, message: &'a str) -> &'a str {
    let desired = &facts.cluster_version["spec"]["desiredUpdate"];
    let asked = |field: &str| desired[field].as_str().unwrap_or_default();
    [quoted(message, "version=\""), quoted(message, "image=\""), asked("version"), asked("image")]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or("requested")
}

/// What stands between `start` and the next quotation mark; empty where there is none.
fn quoted<'a>(message: &'a str, start: &str) -> &'a str {
    let rest = message.split_once(start).map_or("", |(_, rest)| rest);
    rest.split_once('"').map_or("", |(text, _)| text)
}
