//! Looks for the first moment of an update with no way back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use windtunnel_core::clock::{Time, after};

use crate::engine::runtime::Observer;
use crate::engine::sweep::{Branch, Finder, Moments, Request, Snapshot, Terms, Verdict};

/// A copy of a cluster that approaches the end of its update, from one moment to a later one.
pub(super) struct Approach {
    /// The latest moment with a way back, so far.
    base: Snapshot,
    /// The number of the moment, from 0.
    index: usize,
    terms: Terms,
}

impl Approach {
    /// Starts at the first moment of an update, with the terms of the way back.
    pub(super) fn new(first: Snapshot, terms: Terms) -> Self {
        Self { base: first, index: 0, terms }
    }

    /// Takes the update back at these moments, which are in order. Returns the first branch that does not arrive.
    pub(super) fn first_unsafe_of(mut self, moments: &[usize]) -> Option<Branch> {
        let mut branches = moments.iter().filter_map(|moment| self.branch_at(*moment));
        branches.find(|branch| branch.verdict != Verdict::Safe)
    }

    /// Halves the moments before `end`, from which `last` does not arrive, until the first such moment is left. A moment
    /// after one with no way back is taken to have none either.
    pub(super) fn first_unsafe_before(mut self, end: usize, last: &Branch) -> Branch {
        let first = self.base.run(&self.terms);
        if first.verdict != Verdict::Safe {
            return first;
        }
        let (mut high, mut found) = (end, last.clone());
        while high - self.index > 1 {
            let middle = usize::midpoint(self.index, high);
            let Some(branch) = self.branch_at(middle) else { break };
            if branch.verdict != Verdict::Safe {
                (high, found) = (middle, branch);
            }
        }
        found
    }

    /// Takes the update back at a later moment. If that arrives, later moments are reached from there. `None` if there is no
    /// such moment.
    fn branch_at(&mut self, moment: usize) -> Option<Branch> {
        let snapshot = self.snapshot_at(moment)?;
        let branch = snapshot.run(&self.terms);
        if branch.verdict == Verdict::Safe {
            (self.base, self.index) = (snapshot, moment);
        }
        Some(branch)
    }

    /// Lets a copy of the base run to a later moment.
    fn snapshot_at(&self, moment: usize) -> Option<Snapshot> {
        let ahead = moment.checked_sub(self.index).filter(|ahead| *ahead > 0)?;
        let mut session = self.base.copy.continued(self.terms.seed).ok()?;
        let (is_there, found) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let Request::GoTo(target) = &self.terms.request else { return None };
        let mut finder = Finder::new(Moments::EveryWrite, Some(target.clone()));
        let (writes, mut seen) = (self.base.moment.writes, 0);
        let look = {
            let (is_there, found) = (Arc::clone(&is_there), Arc::clone(&found));
            move |cluster: &_| {
                let moment = finder.look(cluster);
                seen += usize::from(moment.is_some());
                if let Some(mut moment) = moment.filter(|_| seen == ahead) {
                    moment.writes += writes;
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = Snapshot::of(cluster, moment);
                    is_there.store(true, Ordering::Relaxed);
                }
                None::<Time>
            }
        };
        session.simulation.observer = Some(Observer::new(Box::new(look)));
        let deadline = after(session.now(), self.terms.within);
        let outcome = session
            .runtime
            .block_on(session.simulation.run_until(deadline, |_| is_there.load(Ordering::Relaxed)));
        session.simulation.observer = None;
        outcome.ok()?;
        found.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
