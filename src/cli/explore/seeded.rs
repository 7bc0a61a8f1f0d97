//! `windtunnel explore --seeded`: how many defects after known bugs the exploration finds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use windtunnel_core::text::{counted, did_you_mean};

use super::{Exit, Stopwatch};
use crate::cli::args::{ExploreArgs, ExploreFormat};
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::{print_notice, print_output};
use crate::engine::{SeededDefect, seeded_defects};
use crate::explore::{SeededRow, SeededTable, Settings, find_seeded};

/// Explores with these defects; with all without a name.
///
/// # Errors
/// A name is unknown.
pub(super) fn explore(
    args: &ExploreArgs,
    settings: &Settings<'_>,
    names: &[String],
    interrupt: &Interrupt,
) -> Result<Exit, String> {
    let defects = defects(names)?;
    let limit = args.budget().and_then(|budget| Duration::try_from(budget).ok());
    // Each exploration has a time of its own, which begins when it does.
    let begun: Mutex<BTreeMap<usize, Stopwatch>> = Mutex::default();
    let stop = |number: usize| {
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        let took = begun.entry(number).or_insert_with(Stopwatch::start).read().took;
        interrupt.is_interrupted() || limit.is_some_and(|limit| took >= limit)
    };
    let table = find_seeded(settings, &defects, &stop, &|row| print_notice(&line(row)));
    print_output(&match args.format {
        ExploreFormat::Text => to_text(&table),
        ExploreFormat::Json => to_json(&table, args.seed),
    });
    let all_found = table.found() == table.rows.len();
    Ok(interrupt.exit().unwrap_or(if all_found { Exit::Passed } else { Exit::Failed }))
}

fn defects(names: &[String]) -> Result<Vec<&'static SeededDefect>, String> {
    if names.is_empty() {
        return Ok(seeded_defects().collect());
    }
    let find = |name: &String| {
        SeededDefect::find(name).ok_or_else(|| {
            let hint = did_you_mean(name, seeded_defects().map(|defect| defect.name));
            format!("there is no seeded defect `{name}`{hint}")
        })
    };
    names.iter().map(find).collect()
}

/// The outcome for a defect in one line.
fn line(row: &SeededRow) -> String {
    let runs = counted(usize::try_from(row.runs).unwrap_or(usize::MAX), "run");
    match &row.found {
        Some(finding) => format!("{}: found after {runs}: {}", row.defect.name, finding.cause),
        None if row.had_effect => format!("{}: not found in {runs}", row.defect.name),
        None => format!("{}: no effect in {runs}", row.defect.name),
    }
}

/// The table as Markdown, which is readable as text too.
fn to_text(table: &SeededTable) -> String {
    let mut text =
        "| defect | component | bug | found by | runs | lines | faults |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for row in &table.rows {
        let SeededDefect { name, component, bug, .. } = row.defect;
        let (by, lines, faults) = match &row.found {
            Some(found) => (found.oracle.as_str(), lines(row).to_string(), found.case.faults().to_string()),
            None if row.had_effect => ("not found", String::new(), String::new()),
            None => ("no effect", String::new(), String::new()),
        };
        let _ =
            writeln!(text, "| `{name}` | {component} | {bug} | {by} | {} | {lines} | {faults} |", row.runs);
    }
    let _ = writeln!(
        text,
        "\nfound {} of {}; {} without a defect, {} in them",
        table.found(),
        counted(table.rows.len(), "defect"),
        counted(usize::try_from(table.clean_runs).unwrap_or(usize::MAX), "run"),
        counted(table.clean_problems.len(), "false alarm"),
    );
    for (run, cause) in &table.clean_problems {
        let _ = writeln!(text, "  run {run}: {cause}");
    }
    text
}

/// The number of lines of the scenario without its comments.
fn lines(row: &SeededRow) -> usize {
    let scenario = row.found.as_ref().map(crate::explore::Finding::scenario).unwrap_or_default();
    scenario.lines().filter(|line| !line.starts_with('#')).count()
}

fn to_json(table: &SeededTable, seed: u64) -> String {
    let row = |row: &SeededRow| {
        let SeededDefect { name, component, bug, text, .. } = row.defect;
        let found = row.found.as_ref();
        json!({
            "name": name, "component": component, "bug": bug, "text": text,
            "oracle": found.map(|found| &found.oracle),
            "cause": found.map(|found| &found.cause),
            "runs": row.runs,
            "hadEffect": row.had_effect,
            "lines": found.map(|_| lines(row)),
            "faults": found.map(|found| found.case.faults()),
            "scenario": found.map(crate::explore::Finding::scenario),
        })
    };
    let problems: Vec<Value> =
        table.clean_problems.iter().map(|(run, cause)| json!({ "run": run, "cause": cause })).collect();
    let document = json!({
        "seed": seed,
        "defects": table.rows.iter().map(row).collect::<Vec<_>>(),
        "found": table.found(),
        "cleanRuns": table.clean_runs,
        "cleanProblems": problems,
    });
    format!("{document:#}\n")
}
