//! Updates clusters of many kinds to the next release, and takes each of the updates back.

mod approach;
mod cell;
mod trial;

use windtunnel_core::panics;

pub use self::cell::{Cell, Topology};
pub use self::trial::{CellResult, Leg, PointOfNoReturn};

use super::sweep::Verdict;
use super::workers::map_in_parallel;

/// Updates the cluster of each cell, and takes the update back: from its end, and from earlier moments. `jobs` clusters
/// run at a time. The results have the order of the cells.
pub fn try_all(cells: &[Cell], seed: u64, jobs: usize) -> Vec<CellResult> {
    map_in_parallel(cells, jobs, |cell| try_cell(cell, seed))
}

fn try_cell(cell: &Cell, seed: u64) -> CellResult {
    let result = panics::catch_panic(|| trial::run(cell, seed));
    let failed = |why: String| CellResult::not_updated(cell.clone(), Leg::failed(Verdict::Failed(why)));
    match result {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => failed(error.to_string()),
        Err(panic) => failed(format!("a component panicked: {panic}")),
    }
}
