//! Several dumps: a table with a line for each.

use std::path::Path;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::text::{columns, counted, short_duration};

use super::cluster::Cluster;
use super::{exit, outputs, rehearsed};
use crate::cli::args::{RehearsalFormat, RehearseArgs, jobs_or_cores};
use crate::cli::output::Shown as _;
use crate::cli::parallel::in_parallel;
use crate::cli::suite::timed;
use crate::cli::terminal::progress::Progress;
use crate::cli::{Exit, print_errors, print_notice, print_output};
use crate::rehearsal::Report;
use crate::report::junit::{Finding, FindingOutcome};

/// The result of a dump: its report, or why it is unusable.
type Row = (String, Result<Report, String>);

/// Rehearses the update of the clusters of several dumps.
///
/// # Errors
/// A flag is for one dump only, or an output cannot be written.
pub(super) fn rehearse(args: &RehearseArgs) -> Result<Exit, String> {
    let for_one = [("--html", args.html.is_some()), ("--emit", args.emit.is_some())];
    if let Some((flag, _)) = for_one.into_iter().find(|(_, is_set)| *is_set) {
        return Err(format!("{flag}: expected one dump, found {}", args.dumps.len()));
    }
    outputs::check(args)?;
    print_notice(&format!("rehearsing {} to {}", counted(args.dumps.len(), "dump"), args.to));
    let progress = Progress::of(args.dumps.len() * args.seeds.iter().count() * (1 + args.what_if.len()));
    let (rows, wall) = timed(|| rows(args, &progress));
    progress.end();
    if let Some(path) = &args.junit {
        let dumps: Vec<(String, Vec<Finding>)> = rows.iter().map(findings).collect();
        outputs::write_junit(path, &dumps, wall)?;
    }
    let text = match args.output {
        RehearsalFormat::Text => table(args, &rows),
        RehearsalFormat::Json => format!("{:#}\n", json(&rows)),
    };
    print_output(&text);
    let errors = rows.iter().filter_map(|(_, result)| result.as_ref().err());
    errors.for_each(|error| print_errors(error));
    let exits = rows.iter().map(|(_, result)| match result {
        Ok(report) => exit(report, args.accept_unknown),
        Err(_) => Exit::Usage,
    });
    Ok(exits.max_by_key(|exit| severity(*exit)).unwrap_or(Exit::Passed))
}

/// The rank of an exit: an unusable dump is the worst.
fn severity(exit: Exit) -> u8 {
    match exit {
        Exit::Passed => 0,
        Exit::Unknown => 1,
        Exit::Failed => 2,
        _ => 3,
    }
}

/// Rehearses each dump, several at a time; the results are in the order of the arguments.
fn rows(args: &RehearseArgs, progress: &Progress) -> Vec<Row> {
    let jobs = jobs_or_cores(args.jobs);
    let report = |dump: &Path| {
        let cluster = Cluster::read(dump, args)?;
        // The dumps run at the same time, so that the runs of one do not.
        let outcome = rehearsed(&cluster, dump, args, 1, progress);
        outcome.map(|outcome| outcome.report).map_err(|error| format!("{}: {error}", dump.shown()))
    };
    in_parallel(&args.dumps, jobs, |dump| (dump.shown(), report(dump)))
}

fn table(args: &RehearseArgs, rows: &[Row]) -> String {
    let head = ["DUMP", "FROM", "RESULT", "STOPS", "FIRST CAUSE", "DURATION"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|(dump, result)| match result {
        Err(_) => [dump, "", "unusable", "", "", ""].map(str::to_owned).to_vec(),
        Ok(report) => vec![
            dump.clone(),
            report.from.to_string(),
            report.verdict().word().to_owned(),
            report.stops().count().to_string(),
            first_cause(report),
            report.total().map_or_else(|| "not complete".to_owned(), span),
        ],
    }));
    let runs = counted(args.seeds.iter().count(), "run");
    format!("Rehearsed {} to {} in {runs} each\n\n{}", counted(rows.len(), "dump"), args.to, columns(&cells))
}

fn first_cause(report: &Report) -> String {
    let first = report.stops().next();
    let cause = first.map(|stop| match &stop.cause {
        Some(cause) => cause.to_string(),
        None => format!("unknown, at {}", stop.phase),
    });
    cause.unwrap_or_default()
}

fn span((least, most): (SignedDuration, SignedDuration)) -> String {
    if least == most {
        return short_duration(least);
    }
    format!("{} to {}", short_duration(least), short_duration(most))
}

fn json(rows: &[Row]) -> Value {
    let row = |(dump, result): &Row| match result {
        Ok(report) => json!({ "dump": dump, "report": report.to_json() }),
        Err(error) => json!({ "dump": dump, "error": error }),
    };
    rows.iter().map(row).collect()
}

fn findings((dump, result): &Row) -> (String, Vec<Finding>) {
    let findings = match result {
        Ok(report) => outputs::findings(report),
        Err(error) => vec![Finding {
            name: "read the dump".to_owned(),
            outcome: FindingOutcome::Error(error.clone()),
            output: String::new(),
        }],
    };
    (dump.clone(), findings)
}
