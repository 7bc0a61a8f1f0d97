//! The trial of a cell: the update, and the ways back.

use jiff::SignedDuration;

use super::Cell;
use super::approach::Approach;
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::engine::session::Session;
use crate::engine::sweep::{Branch, Finder, Moment, Moments, Request, Snapshot, Terms, Verdict};
use crate::plan::Plan;

/// How much cluster time each way has.
const WITHIN: SignedDuration = SignedDuration::from_hours(8);

/// The moments at which an update that can be taken back in the end is also taken back early, in quarters of its writes.
const EARLY: [usize; 3] = [1, 2, 3];

/// The result of a cell.
#[derive(Debug, Clone)]
pub struct CellResult {
    /// The pair and the cluster.
    pub cell: Cell,
    /// The update.
    pub there: Leg,
    /// The way back from its end; `None` if it does not end.
    pub back: Option<Leg>,
    /// The first moment of the update with no way back, if there is one.
    pub no_return: Option<PointOfNoReturn>,
}

/// A way from one release to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// The fate of the cluster.
    pub verdict: Verdict,
    /// How long it took, until the cluster arrived or no more was to be expected.
    pub took: SignedDuration,
}

/// The first moment of an update with no way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointOfNoReturn {
    /// The moment.
    pub moment: Moment,
    /// The fate of a cluster that is asked to go back from it.
    pub verdict: Verdict,
}

impl Leg {
    pub(super) fn failed(verdict: Verdict) -> Self {
        Self { verdict, took: SignedDuration::ZERO }
    }

    fn of(branch: &Branch) -> Self {
        Self { verdict: branch.verdict.clone(), took: branch.took }
    }
}

impl CellResult {
    /// The result of a cluster that does not reach the newer release.
    pub(super) fn not_updated(cell: Cell, there: Leg) -> Self {
        Self { cell, there, back: None, no_return: None }
    }

    /// Whether the cluster arrives on both ways, from each moment that was tried.
    pub fn is_safe(&self) -> bool {
        let arrives = |leg: &Leg| leg.verdict == Verdict::Safe;
        arrives(&self.there) && self.back.as_ref().is_some_and(arrives) && self.no_return.is_none()
    }
}

/// Runs the trial of a cell.
///
/// # Errors
/// The cluster could not be set up.
pub(super) fn run(cell: &Cell, seed: u64) -> Result<CellResult, SessionError> {
    let mut session = Session::start(&Plan::new(cell.plan(), Vec::new()), seed)?;
    let began = session.now();
    let mut update = Update::new(cell);
    let to_newer = terms(cell, Way::There);
    let (verdict, end) = session.go(&to_newer, &mut |cluster| update.look(cluster));
    let there = Leg { verdict, took: end.duration_since(began) };
    let Update { first, count, last, .. } = update;
    let (Some(first), Some(last), Verdict::Safe) = (first, last, &there.verdict) else {
        return Ok(CellResult::not_updated(cell.clone(), there));
    };
    let Some(arrived) = session.snapshot(last) else {
        return Ok(CellResult::not_updated(cell.clone(), there));
    };
    drop(session);
    let to_older = terms(cell, Way::Back);
    let back = arrived.run(&to_older);
    let approach = Approach::new(first, to_older);
    let no_return = match back.verdict {
        Verdict::Safe => approach.first_unsafe_of(&EARLY.map(|quarter| count * quarter / 4)),
        _ => Some(approach.first_unsafe_before(count, &back)),
    };
    let no_return =
        no_return.map(|branch| PointOfNoReturn { moment: branch.moment, verdict: branch.verdict });
    Ok(CellResult { cell: cell.clone(), there, back: Some(Leg::of(&back)), no_return })
}

#[derive(Clone, Copy)]
enum Way {
    There,
    Back,
}

fn terms(cell: &Cell, way: Way) -> Terms {
    let (target, force) = match way {
        Way::There => (&cell.newer.version, false),
        // A rollback to an older minor needs force.
        Way::Back => (&cell.older.version, true),
    };
    Terms {
        request: Request::GoTo(target.clone()),
        force,
        target: target.clone(),
        within: WITHIN,
        goes_back: false,
        must_be_restored: false,
    }
}

/// The moments of an update, as far as they have been seen.
struct Update {
    finder: Finder,
    first: Option<Snapshot>,
    count: usize,
    last: Option<Moment>,
}

impl Update {
    fn new(cell: &Cell) -> Self {
        let finder = Finder::new(Moments::EveryWrite, Some(cell.older.version.clone()));
        Self { finder, first: None, count: 0, last: None }
    }

    /// Looks at the settled cluster.
    fn look(&mut self, cluster: &Simulation) {
        let Some(moment) = self.finder.look(cluster) else { return };
        if self.first.is_none() {
            self.first = Snapshot::of(cluster, moment.clone());
        }
        self.count += 1;
        self.last = Some(moment);
    }
}
