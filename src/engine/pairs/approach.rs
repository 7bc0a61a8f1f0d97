//! Looks for the first moment of an update with no way back.

use windtunnel_core::clock::after;

use crate::engine::session::Session;
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
        let mut session = self.base.copy.resume().ok()?;
        let Request::GoTo(target) = &self.terms.request else { return None };
        let mut finder = Finder::new(Moments::EveryWrite, Some(target.clone()));
        let (mut seen, mut found) = (0, None);
        let is_there = |cluster: &_| {
            let Some(mut moment) = finder.look(cluster) else { return false };
            seen += 1;
            if seen == ahead {
                moment.writes += self.base.moment.writes;
                found = Snapshot::of(cluster, moment);
            }
            seen == ahead
        };
        let deadline = after(session.now(), self.terms.within);
        let Session { simulation, runtime } = &mut session;
        runtime.block_on(simulation.run_until(deadline, is_there)).ok()?;
        found
    }
}
