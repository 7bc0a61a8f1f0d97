//! The second cluster: the same timeline at the same times, without the updates.

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CLUSTER_VERSIONS;

use crate::engine::error::SessionError;
use crate::engine::restored::State;
use crate::engine::session::Session;
use crate::plan::{Action, Plan, PlannedStep, Step};

/// Runs the other steps of a plan, each when it began in the first cluster, up to the time `end`. Returns the cluster then.
///
/// # Errors
/// The cluster could not be set up, or a component makes no progress.
pub(super) fn run(plan: &Plan, seed: u64, times: &[Time], end: Time) -> Result<State, SessionError> {
    let mut session = Session::start(plan, seed)?;
    session.ignore_invariants();
    for (planned, at) in plan.timeline.iter().zip(times) {
        session.advance_to(at.duration_since(session.record().header.epoch))?;
        repeat(&mut session, planned);
    }
    session.advance_to(end.duration_since(session.record().header.epoch))?;
    Ok(State::of(session.view()))
}

/// Repeats a step, if it changes the cluster and requests no update. A rejection is no failure: the step may be about an
/// object that only the update brings.
fn repeat(session: &mut Session, planned: &PlannedStep) {
    match &planned.step {
        Step::Act(action) => {
            if let Some(action) = without_update(action) {
                let _ = session.run_step_once(&Step::Act(action));
            }
        }
        Step::Run(_) if !planned.updates() => {
            let _ = session.run_step_once(&planned.step);
        }
        Step::Keep(_) => {
            let _ = session.run_step_once(&planned.step);
        }
        Step::Retry(retry) => retry.steps.iter().for_each(|planned| repeat(session, planned)),
        _ => {}
    }
}

/// The action without the request of an update; `None` if nothing else is in it.
fn without_update(action: &Action) -> Option<Action> {
    let mut action = action.clone();
    let change = match &mut action {
        Action::Update { .. } | Action::ClearUpdate => return None,
        Action::Apply(object) if object["kind"] == *CLUSTER_VERSIONS.kind => object,
        Action::Patch { object, patch, .. } if object.resource == CLUSTER_VERSIONS => patch,
        _ => return Some(action),
    };
    if let Some(spec) = change.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("desiredUpdate");
    }
    Some(action)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_request_of_an_update_is_removed() {
        let object = |spec: Value| json!({ "kind": "ClusterVersion", "spec": spec });
        let applied =
            Action::Apply(object(json!({ "channel": "fast", "desiredUpdate": { "version": "1" } })));
        let Some(Action::Apply(left)) = without_update(&applied) else { panic!("removed") };
        assert_eq!(left, object(json!({ "channel": "fast" })));
        assert!(without_update(&Action::ClearUpdate).is_none());
        assert!(without_update(&Action::PublishInsights).is_some());
    }
}
