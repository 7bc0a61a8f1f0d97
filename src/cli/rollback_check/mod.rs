//! `windtunnel rollback-check`: lists the objects of a newer release that an older one rejects or changes.

mod documents;
mod emit;
mod side;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use semver::Version;
use serde_json::Value;
use windtunnel_rollback::check::{Check, Findings, MINORS, Options};
use windtunnel_rollback::trap::Harm;
use windtunnel_rollback::{Direction, Report, output};

use self::side::Side;
use super::args::{Judges, ReportFormat, RollbackCheckArgs, jobs_or_cores};
use super::dump_files::cluster::Dumped;
use super::parallel::in_parallel;
use super::{Exit, files, print_errors, print_notice, print_output};
use crate::cli::output::Shown as _;

/// Prints the traps of a rollback.
///
/// # Errors
/// The definitions of a release cannot be read, or the releases have none in common.
pub(super) fn rollback_check(args: &RollbackCheckArgs) -> Result<Exit, String> {
    let pairs = pairs(args)?;
    if let Some(part) = &args.only {
        side::any_contains(&pairs, part)?;
    }
    let baseline = args.baseline.as_deref().map(known_traps).transpose()?.unwrap_or_default();
    let objects = args.objects.as_deref().map(objects).transpose()?.unwrap_or_default();
    let (mut reports, mut problems) = (Vec::new(), Vec::new());
    for (newer, older) in &pairs {
        let mut both = vec![report(args, Direction::Rollback, (newer, older), &objects)];
        problems.extend(rejected_definitions(&both[0], newer, older));
        if args.both {
            both.push(report(args, Direction::Update, (older, newer), &[]));
        }
        for report in &mut both {
            report.remove_known(&baseline);
        }
        if let Some(folder) = &args.emit {
            emit::scenarios(folder, &both[0], args.level, (newer, older))?;
        }
        reports.extend(both);
    }
    print_output(&text(args, &reports, &pairs));
    if !problems.is_empty() {
        print_errors(&problems.join("\n"));
        return Ok(Exit::Usage);
    }
    let found = reports.iter().any(|report| report.at_level(args.level).next().is_some());
    Ok(if found { Exit::Failed } else { Exit::Passed })
}

/// Returns the traps that objects of a cluster meet when it goes back from a release to an older one, each as a line. Releases have
/// the definitions that simulated components use.
///
/// # Errors
/// The definitions of a release cannot be read.
pub(super) fn traps_of(
    newer: &Version,
    older: &Version,
    feature_set: &str,
    objects: Vec<Value>,
    jobs: usize,
) -> Result<Vec<String>, String> {
    let newer = Side::of_nearest(newer, feature_set)?;
    let older = Side::of_nearest(older, feature_set)?;
    let options = Options::judged_by(older.release().kubernetes());
    let check = Check::new(newer.release().clone(), older.release().clone(), options).with_objects(objects);
    let findings = in_parallel(&check.names(), jobs, |name| check.definition(name));
    let report = Report::of(&check, Direction::Rollback, findings);
    let met = report.at_level(Harm::Edits).filter(|trap| !trap.hits.is_empty());
    Ok(met
        .map(|trap| format!("{} {}: {}: {}", trap.kind, trap.hits.join(", "), trap.path, trap.detail))
        .collect())
}

/// A newer and an older release.
type Pair = (Arc<Side>, Arc<Side>);

/// The releases to compare: one pair, or all neighbours of a series.
fn pairs(args: &RollbackCheckArgs) -> Result<Vec<Pair>, String> {
    if let Some(folder) = &args.series {
        let releases = side::series(folder, &args.feature_set, jobs_or_cores(args.jobs))?;
        let releases: Vec<Arc<Side>> = releases.into_iter().map(Arc::new).collect();
        let neighbours = releases.windows(2).map(|pair| (Arc::clone(&pair[1]), Arc::clone(&pair[0])));
        return Ok(neighbours.collect());
    }
    let (Some(from), Some(to)) = (&args.from, &args.to) else { return Ok(Vec::new()) };
    let newer = Side::read("--from", from, &args.feature_set);
    let older = Side::read("--to", to, &args.feature_set);
    match (newer, older) {
        (Ok(newer), Ok(older)) => {
            side::have_something_in_common(&newer, &older)?;
            Ok(vec![(Arc::new(newer), Arc::new(older))])
        }
        (newer, older) => {
            let errors: Vec<String> = newer.err().into_iter().chain(older.err()).collect();
            Err(errors.join("\n"))
        }
    }
}

/// The report of the way from one side to the other.
fn report(
    args: &RollbackCheckArgs,
    direction: Direction,
    (source, target): (&Side, &Side),
    objects: &[Value],
) -> Report {
    let kubernetes = match args.kubernetes {
        Some(Judges::Minor(minor)) => minor,
        Some(Judges::All) | None => target.release().kubernetes(),
    };
    let mut options = Options {
        seed: args.seed,
        random_objects: args.random_objects,
        backports: !args.upstream,
        ..Options::judged_by(kubernetes)
    };
    let mut columns = Vec::new();
    if args.kubernetes == Some(Judges::All) {
        options.others = MINORS;
        columns.extend(MINORS);
    }
    let check = Check::new(source.release().clone(), target.release().clone(), options)
        .with_objects(objects.to_vec());
    let wanted = |name: &&str| args.only.as_ref().is_none_or(|part| name.contains(part.as_str()));
    let names: Vec<&str> = check.names().into_iter().filter(wanted).collect();
    let mut findings: Vec<Findings> =
        in_parallel(&names, jobs_or_cores(args.jobs), |name| check.definition(name));
    if args.only.is_none() {
        findings.push(Findings { traps: check.built_in_versions(), rejected_definitions: Vec::new() });
    }
    Report::of(&check, direction, findings).with_columns(columns)
}

/// The reports in the wanted format.
fn text(args: &RollbackCheckArgs, reports: &[Report], pairs: &[Pair]) -> String {
    match args.format {
        ReportFormat::Table => {
            let tables: Vec<String> =
                reports.iter().map(|report| output::table(report, args.level)).collect();
            tables.join("\n")
        }
        ReportFormat::Json => format!("{:#}\n", output::json(reports)),
        ReportFormat::Sarif => {
            let locate = |name: &str| pairs.iter().find_map(|(newer, _)| newer.location(name));
            output::sarif(reports, args.level, &locate)
        }
        ReportFormat::Markdown if args.series.is_some() => output::page(reports, args.level),
        ReportFormat::Markdown => output::markdown(reports, args.level),
        ReportFormat::Html => output::html(reports, args.level),
    }
}

/// Errors of definitions that no server accepts, with their places.
fn rejected_definitions(report: &Report, newer: &Side, older: &Side) -> Vec<String> {
    let line = |rejected: &windtunnel_rollback::check::RejectedDefinition| {
        let side = if rejected.is_newer { newer } else { older };
        let name = &rejected.definition;
        format!("{}: no API server accepts {name}: {}", side.place(name), rejected.message)
    };
    report.rejected_definitions.iter().map(line).collect()
}

/// The fingerprints in a baseline.
fn known_traps(path: &Path) -> Result<BTreeSet<String>, String> {
    let text = files::read(path)?;
    let name = path.shown();
    let document: Value = serde_json::from_str(&text).map_err(|error| {
        format!("{name}:{}:{}: expected the output of `--format json`: {error}", error.line(), error.column())
    })?;
    output::fingerprints(&document).map_err(|error| format!("{name}: {error}"))
}

/// The objects of a cluster.
fn objects(path: &Path) -> Result<Vec<Value>, String> {
    let dumped = Dumped::read(path, None)?;
    if !dumped.problems.is_empty() {
        print_errors(&dumped.problems.join("\n"));
    }
    for line in dumped.inventory.iter().flat_map(|inventory| inventory.uncollected_lines(&path.shown())) {
        print_notice(&line);
    }
    Ok(dumped.objects.iter().map(|(_, object)| object.to_value()).collect())
}
