//! An update that fails to proceed.

use crate::base::clock::parse_rfc3339;
use crate::insights::assess::cluster_version;
use crate::model::condition::{Condition, of};
use crate::model::insight::{Assessment, HealthInsight, ImpactLevel, ImpactType};

use super::{Draft, Facts, Sight};

/// The insight while the control plane updates and its `Failing` condition is not `False`, in the words of
/// `oc adm upgrade status`.
pub(super) fn assess(facts: &Facts<'_>, sight: &Sight<'_>) -> Option<HealthInsight> {
    let value = of(facts.cluster_version, "Failing")?;
    let failing = Condition::read(value);
    let status = cluster_version::assess(facts.cluster_version, sight.now);
    if failing.status == "False" || status.assessment != Assessment::Progressing {
        return None;
    }
    let verb = if failing.status == "True" { "is" } else { "may be" };
    let (name, reason) = (&status.resource.name, &failing.reason);
    let draft = Draft {
        cluster_version: facts.cluster_version,
        level: ImpactLevel::Warning,
        kind: ImpactType::UpdateStalled,
        summary: format!("Cluster Version {name} {verb} failing to proceed with the update ({reason})"),
        reference: "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDegraded.md",
    };
    let since = value["lastTransitionTime"].as_str().and_then(parse_rfc3339);
    Some(draft.dated(since, &failing.message, sight))
}
