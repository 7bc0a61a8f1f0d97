//! Warns of an expectation that compares the cluster with its state before an update, where no update was requested.

use crate::plan::{Action, ExpectedState, PastState, Step};

/// The update requests of a run, up to a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Updates {
    may_be_requested: bool,
}

impl Updates {
    /// Returns why the next step of the run is suspicious, if it is.
    pub(super) fn warning_about(&mut self, step: &Step) -> Option<String> {
        self.may_be_requested |= may_request(step);
        let Step::Expect(expected) = step else { return None };
        let ExpectedState::Restored(wanted) = &expected.what else { return None };
        let needs_update = matches!(wanted.to, PastState::CurrentRelease | PastState::Release(_));
        (needs_update && !self.may_be_requested).then(|| {
            "no step before this one requests an update, so there is no earlier state to compare with: update first, or \
             write `to: start`"
                .to_owned()
        })
    }
}

/// Returns whether a step may request an update.
fn may_request(step: &Step) -> bool {
    match step {
        Step::Act(Action::Update { .. }) | Step::Run(_) => true,
        Step::Act(Action::Apply(object)) => object["kind"] == "ClusterVersion",
        Step::Retry(retry) => retry.steps.iter().any(|planned| may_request(&planned.step)),
        _ => false,
    }
}
