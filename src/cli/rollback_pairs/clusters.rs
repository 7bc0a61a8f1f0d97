//! The names of the clusters of a pair that share something.

use std::collections::BTreeMap;

use super::pair::Pair;
use crate::engine::pairs::{CellResult, Topology};

/// Names some of the clusters of a pair: `all clusters`, or their capability sets, each with its topologies unless it is
/// all of them.
pub(super) fn name(some: &[&CellResult], pair: &Pair<'_>) -> String {
    if some.len() == pair.results.len() {
        return "all clusters".to_owned();
    }
    let by_set = |results: &mut dyn Iterator<Item = &CellResult>| {
        let mut sets: BTreeMap<String, Vec<Topology>> = BTreeMap::new();
        for CellResult { cell, .. } in results {
            sets.entry(cell.capability_set.clone()).or_default().push(cell.topology);
        }
        sets
    };
    let all = by_set(&mut pair.results.iter());
    let names = by_set(&mut some.iter().copied()).into_iter().map(|(set, topologies)| {
        if all.get(&set).is_some_and(|all| all.len() == topologies.len()) {
            return set;
        }
        let topologies: Vec<&str> = topologies.into_iter().map(Topology::name).collect();
        format!("{set} ({})", topologies.join(", "))
    });
    names.collect::<Vec<_>>().join(", ")
}
