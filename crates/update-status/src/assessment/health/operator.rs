//! A cluster operator that has been unavailable or degraded for too long.

use jiff::SignedDuration;

use crate::assessment::cluster_operator::Operator;
use crate::assessment::dated_condition::DatedCondition;
use crate::insight::{ImpactLevel, ImpactType, ResourceRef};

use super::findings::{Cause, Findings, HealthDraft, NO_MESSAGE};

pub(super) const RUNBOOK_DEGRADED: &str = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDegraded.md";

/// `Available=False`.
pub(super) const UNAVAILABLE: Cause = Cause {
    name: "Operator is unavailable",
    levels: &[ImpactLevel::Warning, ImpactLevel::Error],
    impact: ImpactType::ApiAvailability,
    reference: "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDown.md",
};

/// `Degraded=True`.
pub(super) const DEGRADED: Cause = Cause {
    name: "Operator is degraded",
    levels: &[ImpactLevel::Warning, ImpactLevel::Error],
    impact: ImpactType::ApiAvailability,
    reference: RUNBOOK_DEGRADED,
};

/// Tolerated time without an insight.
const TOLERATED: SignedDuration = SignedDuration::from_mins(5);
/// The time after which an unavailable operator is an error.
const UNAVAILABLE_ERROR: SignedDuration = SignedDuration::from_mins(20);
/// The time after which a degraded operator is an error.
const DEGRADED_ERROR: SignedDuration = SignedDuration::from_mins(40);

/// Adds the problems of an operator, at the thresholds of `oc adm upgrade status`.
pub fn assess(operator: &Operator, findings: &mut Findings<'_>) {
    let cases = [
        (&UNAVAILABLE, "unavailable", operator.available.as_ref(), "False", UNAVAILABLE_ERROR),
        (&DEGRADED, "degraded", operator.degraded.as_ref(), "True", DEGRADED_ERROR),
    ];
    for (cause, word, condition, bad, error_after) in cases {
        let Some(condition) = condition.filter(|condition| condition.has_status(bad)) else { continue };
        if findings.is_older(condition.since, TOLERATED) {
            let is_error = findings.is_older(condition.since, error_after);
            add(operator, cause, word, condition, is_error, findings);
        }
    }
}

fn add(
    operator: &Operator,
    cause: &'static Cause,
    word: &str,
    condition: &DatedCondition,
    is_error: bool,
    findings: &mut Findings<'_>,
) {
    let level = if is_error { ImpactLevel::Error } else { ImpactLevel::Warning };
    let description = if condition.message.is_empty() { NO_MESSAGE } else { &condition.message };
    findings.add(HealthDraft {
        level,
        summary: format!("Cluster Operator {} is {word} ({})", operator.name, condition.reason),
        description: description.to_owned(),
        since: condition.since,
        ..HealthDraft::new(cause, ResourceRef::cluster_operator(&operator.name))
    });
}
