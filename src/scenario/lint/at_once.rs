//! Warns of an expectation that waits for the end of an update before the update has started. It holds at
//! once.

use windtunnel_core::resources::{CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS};

use crate::plan::{Action, Check, ClusterPlan, Expectation, ExpectedState, ExpectedTime, Step, TextMatch};

/// The progress of the cluster's current update, as far as the steps show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// No update is in progress.
    Done,
    /// An update was requested, and no time has passed since.
    Requested,
    /// The steps do not show it.
    Unknown,
}

impl Progress {
    /// Returns the progress at the start of a run.
    pub(super) fn at_start(cluster: &ClusterPlan) -> Self {
        if cluster.installed { Self::Done } else { Self::Unknown }
    }

    /// Returns why the next step of the run is suspicious, if it is.
    pub(super) fn warning_about(&mut self, step: &Step) -> Option<String> {
        let next = match (step, *self) {
            (Step::Expect(expected), Self::Requested) if is_done(expected) => {
                let why = "ClusterVersion is not progressing yet, so this expectation holds at once, whatever the update does: expect first that ClusterVersion is progressing";
                return Some(why.to_owned());
            }
            (Step::Expect(expected), Self::Requested) if is_updated_pool(expected) => {
                let why = "the pool has not begun to update, so this expectation holds at once, whatever the update does: expect first that the update is complete, or that the pool is Updating";
                return Some(why.to_owned());
            }
            (Step::Expect(expected), _) if is_done(expected) => Self::Done,
            (Step::Expect(Expectation { when: ExpectedTime::Now, .. }), now) => now,
            (Step::Act(Action::Update { .. }), Self::Done) => Self::Requested,
            (Step::Expect(_) | Step::Advance(_) | Step::At(_), Self::Requested)
            | (Step::Act(Action::ClearUpdate) | Step::Run(_) | Step::Retry(_), _) => Self::Unknown,
            (Step::Act(Action::Apply(object)), _) if object["kind"] == "ClusterVersion" => Self::Unknown,
            (Step::Act(Action::Patch { object, .. }), _) if object.resource == CLUSTER_VERSIONS => {
                Self::Unknown
            }
            (_, now) => now,
        };
        *self = next;
        None
    }
}

/// Returns whether a step only waits for the end of an update.
fn is_done(expected: &Expectation) -> bool {
    let (condition, checks) = match &expected.what {
        ExpectedState::Object(object, checks) if object.resource == CLUSTER_VERSIONS => {
            ("Progressing", checks)
        }
        ExpectedState::Insight(insight, checks) if insight.kind == "ClusterVersion" => ("Updating", checks),
        _ => return false,
    };
    let is_completed = |check: &Check| match check {
        Check::Field { path, value: TextMatch::Equals(state) } => {
            path == "status.history[0].state" && state == "Completed"
        }
        check => has_status(check, condition, "False"),
    };
    is_waited_for(expected) && matches!(checks.as_slice(), [check] if is_completed(check))
}

/// Returns whether a step only waits for a pool to be updated.
fn is_updated_pool(expected: &Expectation) -> bool {
    let ExpectedState::Object(object, checks) = &expected.what else { return false };
    let is_updated = |check: &Check| {
        has_status(check, "Updated", "True")
            || has_status(check, "Updating", "False")
            || has_status(check, "Degraded", "False")
    };
    object.resource == MACHINE_CONFIG_POOLS
        && is_waited_for(expected)
        && !checks.is_empty()
        && checks.iter().all(is_updated)
}

fn is_waited_for(expected: &Expectation) -> bool {
    matches!(expected.when, ExpectedTime::Within(_))
}

/// Returns whether a check only requires this status of a condition.
fn has_status(check: &Check, condition: &str, wanted: &str) -> bool {
    match check {
        Check::Condition { kind, status: Some(TextMatch::Equals(status)), reason: None, message: None } => {
            kind == condition && status == wanted
        }
        _ => false,
    }
}
