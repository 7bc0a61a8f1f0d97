//! The payload of the requested release cannot be retrieved: its version pod fails.

use crate::base::clock::parse_rfc3339;
use crate::model::condition::{Condition, of};
use crate::model::insight::{HealthInsight, ImpactLevel, ImpactType};

use super::{Draft, Facts, Sight};

/// The insight while the cluster-version operator reports `ReleaseAccepted=False` with reason `RetrievePayload`. The
/// condition's message, in which the pod speaks, is its description.
pub(super) fn assess(facts: &Facts<'_>, sight: &Sight<'_>) -> Option<HealthInsight> {
    let value = of(facts.cluster_version, "ReleaseAccepted")?;
    let condition = Condition::read(value);
    if (condition.status.as_str(), condition.reason.as_str()) != ("False", "RetrievePayload") {
        return None;
    }
    let target = target(facts, &condition.message);
    let draft = Draft {
        cluster_version: facts.cluster_version,
        level: ImpactLevel::Warning,
        kind: ImpactType::UpdateStalled,
        summary: format!("The payload of release {target} cannot be retrieved"),
        reference: "https://docs.openshift.com/container-platform/latest/updating/updating_a_cluster/updating-cluster-cli.html",
    };
    let description = format!(
        "{} | The cluster stays at the release it runs. Once the cause is mended the cluster-version operator \
         retries by itself; `oc adm upgrade --clear` gives the update up.",
        condition.message
    );
    let since = value["lastTransitionTime"].as_str().and_then(parse_rfc3339);
    Some(draft.dated(since, &description, sight))
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
