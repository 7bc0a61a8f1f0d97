//! The time for each of several explorations.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Stopwatch;
use crate::cli::args::ExploreArgs;
use crate::cli::terminal::interrupt::Interrupt;

/// The time for each exploration, which begins when the exploration does.
pub(super) struct Budgets<'a> {
    limit: Option<Duration>,
    begun: Mutex<BTreeMap<usize, Stopwatch>>,
    interrupt: &'a Interrupt,
}

impl<'a> Budgets<'a> {
    /// The budget of the arguments for each exploration. None of them continues after an interrupt.
    pub(super) fn of(args: &ExploreArgs, interrupt: &'a Interrupt) -> Self {
        let limit = args.budget().and_then(|budget| Duration::try_from(budget).ok());
        Self { limit, begun: Mutex::default(), interrupt }
    }

    /// Whether the exploration of this number must stop. The first question starts its time.
    pub(super) fn is_over(&self, number: usize) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let took = begun.entry(number).or_insert_with(Stopwatch::start).read().took;
        self.interrupt.is_interrupted() || self.limit.is_some_and(|limit| took >= limit)
    }
}
