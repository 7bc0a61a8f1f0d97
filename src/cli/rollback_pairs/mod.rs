//! `windtunnel rollback-pairs`: updates clusters of many kinds to the next minor, and takes each update back.

mod clusters;
mod json;
mod markdown;
mod pair;
mod reasons;
mod table;

use semver::Version;
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::release::Release;

use self::pair::Pair;
use super::args::{PairsFormat, RollbackPairsArgs, jobs_or_cores};
use super::{Exit, print_output};
use crate::engine::pairs::{Cell, CellResult, Topology, try_all};

/// The patch version of all releases. Those of a minor have the same facts.
const PATCH: u64 = 1;

/// Prints what becomes of each cluster.
///
/// # Errors
/// There is no such minor or capability set.
pub(super) fn rollback_pairs(args: &RollbackPairsArgs) -> Result<Exit, String> {
    let cells = cells(args)?;
    let results = try_all(&cells, args.seed, jobs_or_cores(args.jobs));
    let pairs = Pair::all(&results);
    print_output(&match args.format {
        PairsFormat::Table => table::table(&pairs),
        PairsFormat::Json => json::document(&results, args.seed),
        PairsFormat::Markdown => markdown::page(&pairs, &command(args)),
    });
    Ok(if results.iter().all(CellResult::is_safe) { Exit::Passed } else { Exit::Failed })
}

/// The command that makes the page.
fn command(args: &RollbackPairsArgs) -> String {
    let mut text = format!("windtunnel rollback-pairs --from {}", name(args.from));
    if let Some(to) = args.to {
        text += &format!(" --to {}", name(to));
    }
    if !args.capabilities.is_empty() {
        text += &format!(" --capabilities {}", args.capabilities.join(","));
    }
    if !args.topology.is_empty() {
        let names: Vec<&str> = args.topology.iter().copied().map(Topology::name).collect();
        text += &format!(" --topology {}", names.join(","));
    }
    text + &format!(" --seed {} --format markdown", args.seed)
}

/// A minor such as `4.14`.
fn name((major, minor): (u64, u64)) -> String {
    format!("{major}.{minor}")
}

/// The clusters to try, pair by pair.
fn cells(args: &RollbackPairsArgs) -> Result<Vec<Cell>, String> {
    let releases = releases(args)?;
    check_sets(&args.capabilities, &releases)?;
    let topologies: &[Topology] = if args.topology.is_empty() { &Topology::ALL } else { &args.topology };
    let mut cells = Vec::new();
    for pair in releases.windows(2) {
        let [older, newer] = pair else { continue };
        let is_wanted = |set: &&String| args.capabilities.is_empty() || args.capabilities.contains(*set);
        for set in older.capability_sets.keys().filter(is_wanted) {
            cells.extend(topologies.iter().map(|topology| Cell {
                older: older.clone(),
                newer: newer.clone(),
                capability_set: set.clone(),
                topology: *topology,
            }));
        }
    }
    Ok(cells)
}

/// The releases of the minors, the oldest first.
fn releases(args: &RollbackPairsArgs) -> Result<Vec<Release>, String> {
    let lines: Vec<(u64, u64)> = Release::lines().collect();
    let known = || lines.iter().copied().map(name).collect::<Vec<_>>().join(", ");
    let newest = lines.last().copied().unwrap_or_default();
    let (from, to) = (args.from, args.to.unwrap_or(newest));
    for (flag, line) in [("--from", from), ("--to", to)] {
        if !lines.contains(&line) {
            return Err(format!(
                "{flag}: there are no facts about {}; known minors: {}",
                name(line),
                known()
            ));
        }
    }
    let wanted = lines.iter().filter(|line| (from..=to).contains(*line));
    let releases = wanted.map(|(major, minor)| Release::find(&Version::new(*major, *minor, PATCH)));
    let releases: Vec<Release> = releases.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    if releases.len() < 2 {
        return Err(format!(
            "--from {} --to {}: there is no update between them; --from is the older minor",
            name(from),
            name(to)
        ));
    }
    Ok(releases)
}

/// Checks that one of the older releases has each capability set.
fn check_sets(wanted: &[String], releases: &[Release]) -> Result<(), String> {
    let older = releases.split_last().map_or(&[][..], |(_, older)| older);
    let known = || older.iter().flat_map(|release| release.capability_sets.keys());
    match wanted.iter().find(|set| !known().any(|known| known == *set)) {
        None => Ok(()),
        Some(set) => {
            let hint = did_you_mean(set, known().map(String::as_str));
            Err(format!("--capabilities: no older release of these pairs has the set `{set}`{hint}"))
        }
    }
}
