//! Updates clusters of many kinds to the next release, and takes each of the updates back.

mod approach;
mod cell;
mod trial;

pub use self::cell::{Cell, Topology};
pub use self::trial::{CellResult, Leg, PointOfNoReturn};

use super::sweep::Verdict;
use super::workers::{guarded, map_in_parallel};

/// Updates the cluster of each cell, and takes the update back: from its end, and from earlier moments. `jobs` clusters
/// run at a time. The results have the order of the cells.
pub fn try_all(cells: &[Cell], seed: u64, jobs: usize) -> Vec<CellResult> {
    map_in_parallel(cells, jobs, |cell| try_cell(cell, seed))
}

fn try_cell(cell: &Cell, seed: u64) -> CellResult {
    guarded(|| trial::run(cell, seed))
        .unwrap_or_else(|why| CellResult::not_updated(cell.clone(), Leg::failed(Verdict::Failed(why))))
}
