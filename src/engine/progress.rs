//! The place of a run in its plan, from which a copy of the cluster continues.

use windtunnel_core::View;
use windtunnel_core::clock::Time;

/// The place of a run in its plan.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Progress {
    /// The index of the running step in the timeline.
    step: usize,
    /// The wait of the running step, if time passes in it.
    wait: Option<Wait>,
    /// Whether the running step retries other steps.
    retries: bool,
}

/// A step during which time passes.
#[derive(Debug, Clone)]
struct Wait {
    since: Time,
    /// The cluster at that time, if the step compares with it.
    baseline: Option<View>,
}

impl Progress {
    /// The place before the step with this index.
    pub(in crate::engine) fn before(step: usize) -> Self {
        Self { step, ..Self::default() }
    }

    /// The index of the running step.
    pub(in crate::engine) fn step(&self) -> usize {
        self.step
    }

    /// Continues at the step with this index.
    pub(in crate::engine) fn set_step(&mut self, step: usize) {
        self.step = step;
    }

    /// Whether time passes in the running step. A new step does not wait yet, except in a copy that continues one.
    pub(in crate::engine) fn is_waiting(&self) -> bool {
        self.wait.is_some()
    }

    /// Begins a wait. Returns its start, which in a copy may be in the past.
    pub(in crate::engine) fn begin_wait(&mut self, now: Time) -> Time {
        self.wait.get_or_insert(Wait { since: now, baseline: None }).since
    }

    /// The cluster at the start of the wait.
    pub(in crate::engine) fn baseline(&mut self, now: &View) -> View {
        let wait = self.wait.as_mut();
        wait.map_or_else(|| now.clone(), |wait| wait.baseline.get_or_insert_with(|| now.clone()).clone())
    }

    /// Ends the wait.
    pub(in crate::engine) fn end_wait(&mut self) {
        self.wait = None;
    }

    /// Begins or ends the retries of a step.
    pub(in crate::engine) fn set_retries(&mut self, retries: bool) {
        self.retries = retries;
    }

    /// Whether a copy can continue the plan: a step waits that is no attempt of a retry. All other steps take no time.
    pub(in crate::engine) fn can_continue(&self) -> bool {
        self.wait.is_some() && !self.retries
    }
}
