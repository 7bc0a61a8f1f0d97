//! `windtunnel rehearse`: runs the update of a dumped cluster in a simulated copy of it.

use semver::Version;
use windtunnel_core::Object;
use windtunnel_openshift::release::Release;

use super::args::{RehearsalFormat, RehearseArgs, jobs_or_cores};
use super::dump_files::cluster::Dumped;
use super::parallel::in_parallel;
use super::start_from::{StartFrom, other_facts};
use super::{Exit, print_notice, print_output};
use crate::engine::SessionError;
use crate::plan::{ClusterPlan, Plan, ReleasePlan};
use crate::rehearsal::{Rehearsed, Report, Unseen, Verdict, rehearse as rehearse_once, unseen, warnings};

/// What every rehearsal takes for granted.
const ASSUMED: [&str; 3] = [
    "webhooks with a URL, and those whose Service has a ready endpoint, allow every request",
    "images that a dump cannot show can be pulled; the release is signed as the cluster expects",
    "conditional risks do not come true: the warnings have those that apply or may apply",
];

pub(super) fn rehearse(args: &RehearseArgs) -> Result<Exit, String> {
    let dumped = Dumped::read(&args.dump, None)?.without_secrets();
    let start = StartFrom::of(&dumped, &args.dump, &[])?;
    let targets = start.unfinished().into_iter().chain(&args.via).chain([&args.to]);
    let mut targets: Vec<Version> = targets.cloned().collect();
    targets.dedup();
    let releases = targets.iter().map(|target| ReleasePlan::plain(Release::nearest(target))).collect();
    let cluster = ClusterPlan { releases, ..ClusterPlan::new(Release::nearest(&args.to)) };
    let mut plan = Plan::new(cluster, Vec::new());
    start.apply(&mut plan);
    let from = plan.cluster.release.version.clone();
    check_targets(&from, &targets)?;
    let report = report(args, &dumped, &start, &plan, &targets)?;
    let text = match args.output {
        RehearsalFormat::Text => report.to_string(),
        RehearsalFormat::Json => format!("{:#}\n", report.to_json()),
    };
    print_output(&text);
    Ok(match report.verdict() {
        Verdict::Stops => Exit::Failed,
        Verdict::Unknown if !args.accept_unknown => Exit::Unknown,
        Verdict::Unknown | Verdict::NothingFound => Exit::Passed,
    })
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

/// Runs the update with each seed.
fn report(
    args: &RehearseArgs,
    dumped: &Dumped,
    start: &StartFrom,
    plan: &Plan,
    targets: &[Version],
) -> Result<Report, String> {
    let seeds: Vec<u64> = args.seeds.iter().collect();
    print_notice(&format!(
        "rehearsing {} to {} in {}",
        plan.cluster.release.version,
        args.to,
        if seeds.len() == 1 { "1 run".to_owned() } else { format!("{} runs", seeds.len()) }
    ));
    let runs = in_parallel(&seeds, jobs_or_cores(args.jobs), |seed| rehearse_once(plan, targets, *seed));
    let runs: Vec<Rehearsed> = runs
        .into_iter()
        .collect::<Result<_, SessionError>>()
        .map_err(|error| format!("the copy of the cluster cannot run: {error}"))?;
    let objects: Vec<&Object> = dumped.objects.iter().map(|(_, object)| object).collect();
    let mut report = Report::new(plan.cluster.release.version.clone(), args.to.clone(), &runs);
    report.warnings = warnings(&dumped.evidence(&objects), &report.from, targets);
    report.unseen = unseen(&objects);
    let left_out = start.left_out().map(|left| Unseen {
        what: format!("what {} {} does: {}", left.kind, left.name, left.why),
        collect: format!("it is in {}, and not taken over", left.file),
    });
    report.unseen.extend(left_out);
    let facts = targets.iter().filter_map(|target| other_facts(&Release::nearest(target)));
    let assumed = ASSUMED.iter().map(ToString::to_string).chain(facts);
    report.assumed = assumed.chain(start.notices().iter().cloned()).collect();
    Ok(report)
}
