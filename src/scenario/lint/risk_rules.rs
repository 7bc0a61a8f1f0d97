//! Warns of rules of risks that the cluster-version operator ignores.

use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::graph::{MatchingRule, Risk};

use super::at_start;
use crate::plan::Plan;
use crate::scenario::ScenarioError;

/// Returns warnings about rules of unknown types.
pub(super) fn warnings(plan: &Plan) -> Vec<ScenarioError> {
    let service = &plan.cluster.update_service;
    let blocked = service.blocked.iter().filter_map(|blocked| blocked.risk.as_ref());
    let risks = blocked.chain(service.conditional.iter().flat_map(|edges| &edges.risks));
    let ignored = risks.flat_map(|risk| risk.rules.iter().filter_map(move |rule| warning(risk, rule)));
    ignored.map(|message| at_start(plan, &message)).collect()
}

fn warning(risk: &Risk, rule: &MatchingRule) -> Option<String> {
    let MatchingRule::Other(kind) = rule else { return None };
    let hint = did_you_mean(kind, ["Always", "PromQL"]);
    Some(format!(
        "the operator ignores the rule of type `{kind}` of risk {}: types are `Always` and `PromQL`{hint}",
        risk.name
    ))
}
