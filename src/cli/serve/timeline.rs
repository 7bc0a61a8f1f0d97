//! Runs the timeline of a scenario in a served cluster, and prints each step that ends.

use std::sync::Arc;

use tokio::sync::watch;
use windtunnel_core::text::short_duration;

use super::clock::ClockPace;
use crate::cli::print_notice;
use crate::engine::Session;
use crate::plan::Plan;

/// The result of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimelineState {
    /// It runs, or the cluster has none.
    Running,
    /// All of its steps passed.
    Passed,
    /// A step failed.
    Failed,
    /// The cluster cannot go on.
    Stopped,
}

/// Runs the timeline of a plan, and reports its result. Does nothing if the plan has no steps.
pub(super) fn run(session: &mut Session, plan: &Plan, pace: ClockPace, state: &watch::Sender<TimelineState>) {
    if plan.timeline.is_empty() {
        return;
    }
    let mut passed = 0;
    let failure = session.run_at_pace(plan, Arc::new(pace), |session, step, outcome| {
        let elapsed = short_duration(session.elapsed());
        passed += usize::from(outcome.is_ok());
        let text = session.secrets().hide(&step.text);
        print_notice(&match outcome {
            Ok(()) => format!("{elapsed}  passed  {text}"),
            Err(why) => {
                format!("{elapsed}  FAILED  {}:{}:{}: {text}: {why}", plan.file, step.line, step.column)
            }
        });
    });
    let result = match failure {
        Some(_) => TimelineState::Failed,
        None if passed == plan.timeline.len() => TimelineState::Passed,
        // A signal ended it.
        None => return,
    };
    let word = if result == TimelineState::Passed { "PASS" } else { "FAIL" };
    print_notice(&format!("{word}  {}", session.secrets().hide(&plan.name)));
    state.send_replace(result);
}
