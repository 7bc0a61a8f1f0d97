//! Warns of an expectation that waits for the end of an update before the update has started. It holds at
//! once.

use windtunnel_core::resources::CLUSTER_VERSIONS;

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
            (Step::Expect(expected), _) if is_done(expected) => Self::Done,
            (Step::Expect(Expectation { when: ExpectedTime::Now, .. }), now) => now,
            (Step::Act(Action::Update { .. }), Self::Done) => Self::Requested,
            (Step::Expect(_) | Step::Advance(_) | Step::At(_), Self::Requested)
            | (Step::Act(Action::ClearUpdate) | Step::Run(_) | Step::Retry(_), _) => Self::Unknown,
            (Step::Act(Action::Apply(object)), _) if object["kind"] == "ClusterVersion" => Self::Unknown,
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
    let is_waited_for = matches!(expected.when, ExpectedTime::Within(_));
    is_waited_for && matches!(checks.as_slice(), [check] if is_false(check, condition))
}

/// Returns whether a check only requires status `False` of this condition.
fn is_false(check: &Check, condition: &str) -> bool {
    match check {
        Check::Condition { kind, status: Some(TextMatch::Equals(status)), reason: None, message: None } => {
            kind == condition && status == "False"
        }
        _ => false,
    }
}
