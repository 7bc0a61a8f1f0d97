//! Updates clusters of many kinds to the next release, and takes each of the updates back.

mod approach;
mod cell;
mod trial;

use windtunnel_core::panics;

pub use self::cell::{Cell, Topology};
pub use self::trial::{CellResult, Leg, PointOfNoReturn};

use super::cluster_copy::with_workers;
use super::sweep::Verdict;

/// Updates the cluster of each cell, and takes the update back: from its end, and from earlier moments. `jobs` clusters
/// run at a time. The results have the order of the cells.
pub fn try_all(cells: &[Cell], seed: u64, jobs: usize) -> Vec<CellResult> {
    let work = |index: usize| (index, try_cell(&cells[index], seed));
    let ((), mut results) = with_workers(jobs, work, |sender| {
        for index in 0..cells.len() {
            // The workers live as long as the sender.
            let _ = sender.send(index);
        }
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
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
