//! `windtunnel rehearse`: runs the update of a dumped cluster in a simulated copy of it.
//!
//! * `cluster.rs`: the cluster of one dump, and its runs
//! * `what_if.rs`: changes of the cluster; `way_back.rs`: the way back
//! * `fleet.rs`: several dumps; `live.rs`: a cluster that answers
//! * `outputs.rs`: the files of a rehearsal; `emit.rs`: its scenario

mod cluster;
mod emit;
mod fleet;
#[cfg(feature = "live")]
mod live;
mod outputs;
mod way_back;
mod what_if;

use std::path::Path;

use semver::Version;
use windtunnel_core::text::counted;

use self::cluster::{Cluster, Outcome};
use super::args::{RehearsalFormat, RehearseArgs, jobs_or_cores};
use super::suite::timed;
use super::terminal::progress::Progress;
use super::{Exit, print_notice, print_output};
use crate::cli::output::Shown as _;
use crate::rehearsal::{Report, Verdict};

pub(super) fn rehearse(args: &RehearseArgs) -> Result<Exit, String> {
    #[cfg(feature = "live")]
    if let Some(kubeconfig) = &args.kubeconfig {
        return rehearse_one(&Cluster::read_live(kubeconfig, args)?, kubeconfig, args);
    }
    match args.dumps.as_slice() {
        [dump] => rehearse_one(&Cluster::read(dump, args)?, dump, args),
        _ => fleet::rehearse(args),
    }
}

/// Rehearses the update of one cluster, which was read from a path.
fn rehearse_one(cluster: &Cluster, source: &Path, args: &RehearseArgs) -> Result<Exit, String> {
    outputs::check(args)?;
    let seeds = args.seeds.iter().count();
    print_notice(&format!("rehearsing {} to {} in {}", cluster.from(), args.to, counted(seeds, "run")));
    let progress = Progress::of(seeds * (1 + args.what_if.len()));
    let (outcome, wall) = timed(|| rehearsed(cluster, source, args, jobs_or_cores(args.jobs), &progress));
    progress.end();
    let outcome = outcome?;
    outputs::write(args, &source.shown(), cluster, &outcome, wall)?;
    let Outcome { report, .. } = &outcome;
    print_output(&match args.output {
        RehearsalFormat::Text => report.to_string(),
        RehearsalFormat::Json => format!("{:#}\n", report.to_json()),
    });
    Ok(exit(report, args.accept_unknown))
}

/// Runs the update of a cluster with everything that the arguments ask for.
fn rehearsed(
    cluster: &Cluster,
    source: &Path,
    args: &RehearseArgs,
    jobs: usize,
    progress: &Progress,
) -> Result<Outcome, String> {
    let changed = args.what_if.iter().map(|change| Ok((change, cluster.changed(source, args, change)?)));
    let changed = changed.collect::<Result<Vec<_>, String>>()?;
    let mut outcome = cluster.rehearse(args, jobs, progress)?;
    for (change, cluster) in changed {
        let other = cluster.rehearse(args, jobs, progress)?;
        outcome.report.what_if.push((change.clone(), other.report));
    }
    if args.back {
        outcome.report.back = way_back::find(cluster, &outcome, args, jobs)?;
    }
    Ok(outcome)
}

fn exit(report: &Report, accept_unknown: bool) -> Exit {
    match report.verdict() {
        Verdict::Stops => Exit::Failed,
        Verdict::Unknown if !accept_unknown => Exit::Unknown,
        Verdict::Unknown | Verdict::NothingFound => Exit::Passed,
    }
}

/// Checks that each target is newer than the release before, and that no minor is left out.
fn check_targets(from: &Version, targets: &[Version]) -> Result<(), String> {
    let mut before = from;
    for target in targets {
        if target == before {
            return Err(format!("--to {target}: the cluster has this release already"));
        }
        if target < before {
            return Err(format!("--to {target}: expected a release after {before}; updates do not go back"));
        }
        let is_skipped = target.major == before.major && target.minor > before.minor + 1;
        if is_skipped {
            return Err(format!(
                "--to {target}: an update from {before} leaves out {}.{}; add a release of each minor between them, as in `--via \
                 {}.{}.1`",
                before.major,
                before.minor + 1,
                before.major,
                before.minor + 1
            ));
        }
        before = target;
    }
    Ok(())
}
