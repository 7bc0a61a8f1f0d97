//! The way back of a rehearsed update: `--back`.

use super::cluster::{Cluster, Outcome};
use crate::cli::args::RehearseArgs;
use crate::cli::rollback_check;
use crate::rehearsal::{Back, find_way_back};

/// Finds the point of no return of the run with the first seed, and the traps that objects of the updated cluster meet.
///
/// # Errors
/// The cluster cannot be set up or copied.
pub(super) fn find(
    cluster: &Cluster,
    outcome: &Outcome,
    args: &RehearseArgs,
    jobs: usize,
) -> Result<Option<Back>, String> {
    let seed = args.seeds.iter().next().unwrap_or_default();
    let found = find_way_back(&cluster.plan, &outcome.first, seed, jobs)
        .map_err(|error| format!("--back: the copy of the cluster cannot run: {error}"))?;
    let Some(back) = found else { return Ok(None) };
    // The updated cluster has the values that the newer release writes.
    let updated = outcome.record.view_at(outcome.record.end());
    let objects = updated.objects().map(|(_, object)| object.to_value()).collect();
    let traps =
        rollback_check::traps_of(&args.to, &back.to, &cluster.plan.cluster.feature_set, objects, jobs)?;
    Ok(Some(Back { traps, ..back }))
}
