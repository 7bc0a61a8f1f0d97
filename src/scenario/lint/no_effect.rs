//! Warnings about scenarios and steps that cannot fail.

use super::{at, at_start};
use crate::plan::{Plan, Run, Step};
use crate::scenario::ScenarioError;

/// Returns warnings about a scenario that expects nothing, or nothing of the time at its end.
pub(super) fn warnings(plan: &Plan) -> Vec<ScenarioError> {
    let mut found = Vec::new();
    if !plan.timeline.iter().any(|step| can_fail(&step.step)) {
        found.push(at_start(plan, "this scenario expects nothing, so it always passes"));
    }
    if let Some(idle) =
        plan.timeline.last().filter(|step| matches!(step.step, Step::Advance(_) | Step::At(_)))
    {
        found.push(at(plan, idle, "no step expects anything of the time that passes at the end"));
    }
    found
}

/// Returns whether the cluster's behavior can make the step fail.
fn can_fail(step: &Step) -> bool {
    match step {
        Step::Expect(_) | Step::Try(_) | Step::Run(Run { .. }) => true,
        Step::Retry(retry) => retry.steps.iter().any(|planned| can_fail(&planned.step)),
        Step::Act(_) | Step::Advance(_) | Step::At(_) | Step::Keep(_) | Step::KeepCluster(_) => false,
    }
}
