//! The Markdown page: a summary, and a table per pair.

use std::collections::BTreeSet;

use windtunnel_core::text::{clock_time, counted};

use super::clusters;
use super::pair::{Outcome, Pair};
use super::table::grouped;
use crate::cli::sweep::time;
use crate::engine::pairs::{CellResult, PointOfNoReturn, Topology};

const INTRODUCTION: &str = "# Rollback of minor updates, pair by pair

Look up whether an update to the next minor can be taken back. For each pair of releases, each baseline capability set of
the older one and each topology, windtunnel installs a cluster, updates it, and asks it to go back with `force: true`: at
the end of the update, and at earlier moments. A test holds some outcomes of this page against the program.

| Outcome | The cluster |
|---|---|
| safe | arrives on both ways, also if it is asked to go back after a quarter, the half and three quarters of the update's moments |
| trapped | does not come back: the API server rejects writes of its components |
| stuck | does not come back: components wait, and no write is rejected |
| safe at the end | comes back from the end of the update, but not from an earlier moment |
| not updated | does not reach the newer release |

A cell has the outcome and the cluster time of the update, and of the way back if the cluster arrives. `no way back from` is the first
moment after the request of the update from which the cluster does not come back, found by halving the moments with a
write.

HighlyAvailable clusters have three control-plane nodes and three workers, Compact ones three nodes, SingleReplica ones one.
Two-node topologies (HighlyAvailableArbiter from 4.20 on, DualReplica from 4.22 on) and hosted control planes (External) are
not simulated. This is about the operators, the machines and the definitions that windtunnel simulates;
[rollback traps](rollback-traps.md) lists what all definitions of OpenShift reject or lose.
";

/// Renders the page. `command` made it.
pub(super) fn page(pairs: &[Pair<'_>], command: &str) -> String {
    let mut text = INTRODUCTION.to_owned();
    text += &format!("\n## Summary\n\nMade by `{command}`. {}\n", prose(pairs));
    text.push_str(&summary(pairs));
    for pair in pairs {
        text.push_str(&section(pair));
    }
    text
}

/// The result in sentences.
fn prose(pairs: &[Pair<'_>]) -> String {
    let all: usize = pairs.iter().map(|pair| pair.results.len()).sum();
    let safe: usize = pairs.iter().map(|pair| pair.count(Outcome::Safe)).sum();
    let name = |pair: &Pair<'_>| {
        let (older, newer) = pair.minors();
        format!("{older} to {newer}")
    };
    let is_safe = |pair: &&Pair<'_>| pair.count(Outcome::Safe) == pair.results.len();
    let (safe_pairs, others): (Vec<_>, Vec<_>) = pairs.iter().partition(is_safe);
    let list = |pairs: &[&Pair<'_>]| pairs.iter().map(|pair| name(pair)).collect::<Vec<_>>().join(", ");
    let mut text = format!("{safe} of {} come back.", counted(all, "cluster"));
    if !safe_pairs.is_empty() {
        text += &format!(" Safe for all of them: {}.", list(&safe_pairs));
    }
    if !others.is_empty() {
        text += &format!(" Not safe for all: {}.", list(&others));
    }
    text.push('\n');
    text
}

fn summary(pairs: &[Pair<'_>]) -> String {
    let outcomes = [Outcome::Safe, Outcome::Trapped, Outcome::Stuck, Outcome::TooEarly, Outcome::NotUpdated];
    let mut text = "| Update | clusters |".to_owned();
    for outcome in outcomes {
        text += &format!(" {} |", outcome.name());
    }
    text.push_str(" rejected writes, waiting components |\n|---|---|---|---|---|---|---|---|\n");
    for pair in pairs {
        let (older, newer) = pair.minors();
        text += &format!("| {older} to {newer} | {} |", pair.results.len());
        for outcome in outcomes {
            text += &format!(" {} |", pair.count(outcome));
        }
        let causes: BTreeSet<String> =
            grouped(pair).into_iter().flat_map(|(lines, _)| lines).map(|line| cause(&line)).collect();
        text += &format!(" {} |\n", causes.into_iter().collect::<Vec<_>>().join("; "));
    }
    text
}

/// The write or the component of a reason, without its message.
fn cause(line: &str) -> String {
    line.split_once(": ").map_or(line, |(cause, _)| cause).to_owned()
}

fn section(pair: &Pair<'_>) -> String {
    let (older, newer) = pair.minors();
    let mut text = format!("\n## {older} to {newer}\n\n");
    let topologies: BTreeSet<Topology> = pair.results.iter().map(|result| result.cell.topology).collect();
    text.push_str("| Capability set |");
    for topology in &topologies {
        text += &format!(" {} |", topology.name());
    }
    text += &format!("\n|---|{}\n", "---|".repeat(topologies.len()));
    let same_set =
        |one: &CellResult, other: &CellResult| one.cell.capability_set == other.cell.capability_set;
    for results in pair.results.chunk_by(same_set) {
        text += &format!("| {} |", results[0].cell.capability_set);
        for result in results {
            text += &format!(" {} |", cell(result));
        }
        text.push('\n');
    }
    for (lines, results) in grouped(pair) {
        text += &format!("\n{}:\n\n", clusters::name(&results, pair));
        for line in &lines {
            text += &format!("* {}\n", code(line));
        }
        if let Some(first) = results.iter().find_map(|result| result.no_return.as_ref()) {
            text += &format!("* the last write before: {}\n", last_write(first));
        }
    }
    text
}

/// The result of a cluster in a few words.
fn cell(result: &CellResult) -> String {
    let CellResult { there, back, no_return, .. } = result;
    let mut text = format!("{}: {}", Outcome::of(result).name(), clock_time(there.took));
    if let Some(back) = back.as_ref().filter(|_| result.is_safe()) {
        text += &format!(", back in {}", clock_time(back.took));
    }
    if let Some(no_return) = no_return {
        text += &format!(", no way back from {}", time(no_return.moment.at));
    }
    text
}

fn last_write(point: &PointOfNoReturn) -> String {
    format!("number {}, {}", point.moment.writes, code(&point.moment.last_write))
}

/// A text as code in Markdown.
fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
