//! The table for people.

use windtunnel_core::text::{clock_time, columns};

use super::clusters;
use super::pair::{Outcome, Pair};
use super::reasons::reasons;
use crate::cli::sweep::time;
use crate::engine::pairs::{CellResult, Leg};

/// Renders a row per cluster, and below the rows of a pair why clusters do not arrive.
pub(super) fn table(pairs: &[Pair<'_>]) -> String {
    let head = ["from", "to", "capabilities", "topology", "outcome", "there", "back", "no way back from"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(pairs.iter().flat_map(|pair| pair.results.iter().map(|result| row(pair, result))));
    let mut text = columns(&rows);
    for pair in pairs {
        for (reason, results) in grouped(pair) {
            let (older, newer) = pair.minors();
            text += &format!("\n{older} to {newer}, {}:\n", clusters::name(&results, pair));
            for line in &reason {
                text += &format!("  {line}\n");
            }
        }
    }
    text
}

/// The reasons of a pair, each with its clusters, in the order of the clusters.
pub(super) fn grouped<'r>(pair: &Pair<'r>) -> Vec<(Vec<String>, Vec<&'r CellResult>)> {
    let mut groups: Vec<(Vec<String>, Vec<&CellResult>)> = Vec::new();
    for result in pair.results {
        let reason = reasons(result);
        if reason.is_empty() {
            continue;
        }
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, results)) => results.push(result),
            None => groups.push((reason, vec![result])),
        }
    }
    groups
}

fn row(pair: &Pair<'_>, result: &CellResult) -> Vec<String> {
    let CellResult { cell, there, back, no_return } = result;
    let (older, newer) = pair.minors();
    let took = |leg: &Leg| clock_time(leg.took);
    let none = || "-".to_owned();
    vec![
        older,
        newer,
        cell.capability_set.clone(),
        cell.topology.name().to_owned(),
        Outcome::of(result).name().to_owned(),
        took(there),
        back.as_ref().map_or_else(none, took),
        no_return.as_ref().map_or_else(none, |no_return| time(no_return.moment.at)),
    ]
}
