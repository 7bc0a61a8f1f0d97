//! The results of the clusters that go between the same two releases.

use crate::engine::pairs::{Cell, CellResult};
use crate::engine::sweep::Verdict;

/// The results of a pair of releases; never empty.
pub(super) struct Pair<'r> {
    pub(super) results: &'r [CellResult],
}

/// The outcome of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It arrives on both ways.
    Safe,
    /// It does not reach the newer release.
    NotUpdated,
    /// It does not come back, because writes are rejected.
    Trapped,
    /// It does not come back, and waits.
    Stuck,
    /// It comes back from the end of the update, but not from an earlier moment.
    TooEarly,
    /// It broke an invariant, or could not continue.
    Failed,
}

impl Outcome {
    pub(super) fn of(result: &CellResult) -> Self {
        let of_verdict = |verdict: &Verdict| match verdict {
            // Leftovers do not trap a cluster.
            Verdict::Safe | Verdict::LeftOver => None,
            Verdict::Trapped(_) => Some(Self::Trapped),
            Verdict::Stuck(_) => Some(Self::Stuck),
            Verdict::Failed(_) => Some(Self::Failed),
        };
        match (of_verdict(&result.there.verdict), result.back.as_ref().map(|back| of_verdict(&back.verdict)))
        {
            (Some(Self::Failed), _) => Self::Failed,
            (Some(_), _) | (None, None) => Self::NotUpdated,
            (None, Some(Some(outcome))) => outcome,
            (None, Some(None)) if result.no_return.is_some() => Self::TooEarly,
            (None, Some(None)) => Self::Safe,
        }
    }

    /// The name for tables and data.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::NotUpdated => "not updated",
            Self::Trapped => "trapped",
            Self::Stuck => "stuck",
            Self::TooEarly => "safe at the end",
            Self::Failed => "failed",
        }
    }
}

impl<'r> Pair<'r> {
    /// Splits the results of all clusters, in which those of a pair follow each other.
    pub(super) fn all(results: &'r [CellResult]) -> Vec<Self> {
        let same = |one: &CellResult, other: &CellResult| {
            one.cell.older.version == other.cell.older.version
                && one.cell.newer.version == other.cell.newer.version
        };
        results.chunk_by(same).map(|results| Self { results }).collect()
    }

    fn cell(&self) -> &Cell {
        &self.results[0].cell
    }

    /// The older and the newer minor, such as `4.13` and `4.14`.
    pub(super) fn minors(&self) -> (String, String) {
        let Cell { older, newer, .. } = self.cell();
        let minor = |version: &semver::Version| format!("{}.{}", version.major, version.minor);
        (minor(&older.version), minor(&newer.version))
    }

    /// How many clusters have this outcome.
    pub(super) fn count(&self, outcome: Outcome) -> usize {
        self.results.iter().filter(|result| Outcome::of(result) == outcome).count()
    }
}
