//! `windtunnel explore --seeded`: how many seeded mutants the exploration finds.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windtunnel_core::text::{counted, did_you_mean};

use super::budgets::Budgets;
use super::{Exit, GRACE, lock};
use crate::cli::args::{ExploreArgs, ExploreFormat};
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::{print_notice, print_output};
use crate::engine::{SeededMutant, seeded_mutants};
use crate::explore::{Finding, SeededRow, SeededTable, Settings, find_seeded};

/// Explores with these mutants; with all without a name.
///
/// # Errors
/// A name is unknown.
pub(super) fn explore(
    args: &ExploreArgs,
    settings: &Settings<'_>,
    names: &[String],
    interrupt: &Interrupt,
) -> Result<Exit, String> {
    let mutants = mutants(names)?;
    let budgets = Budgets::of(args, interrupt);
    let stop = |number| budgets.is_over(number);
    let done: Arc<Mutex<Vec<SeededRow>>> = Arc::default();
    let (rows, format, seed) = (Arc::clone(&done), args.format, args.seed);
    interrupt.finish_within(GRACE, move || {
        let table = SeededTable { rows: lock(&rows).clone(), ..SeededTable::default() };
        print_output(&output(&table, format, seed));
    });
    let table = find_seeded(settings, &mutants, &stop, &|row| {
        print_notice(&line(row));
        lock(&done).push(row.clone());
    });
    interrupt.has_finished();
    print_output(&output(&table, args.format, args.seed));
    let all_found = table.found() == table.rows.len();
    Ok(interrupt.exit().unwrap_or(if all_found { Exit::Passed } else { Exit::Failed }))
}

fn output(table: &SeededTable, format: ExploreFormat, seed: u64) -> String {
    match format {
        ExploreFormat::Text => to_text(table),
        ExploreFormat::Json => to_json(table, seed),
    }
}

fn mutants(names: &[String]) -> Result<Vec<&'static SeededMutant>, String> {
    if names.is_empty() {
        return Ok(seeded_mutants().collect());
    }
    let find = |name: &String| {
        SeededMutant::find(name).ok_or_else(|| {
            let hint = did_you_mean(name, seeded_mutants().map(|mutant| mutant.name));
            format!("there is no planted bug `{name}`{hint}")
        })
    };
    names.iter().map(find).collect()
}

/// The outcome for a mutant in one line.
fn line(row: &SeededRow) -> String {
    let runs = counted(usize::try_from(row.runs).unwrap_or(usize::MAX), "run");
    match &row.found {
        Some(finding) => format!("{}: found after {runs}: {}", row.mutant.name, finding.cause),
        None if row.had_effect => format!("{}: not found in {runs}", row.mutant.name),
        None => format!("{}: no effect in {runs}", row.mutant.name),
    }
}

/// The figures of a table.
struct Figures {
    /// The percentage of runs without a mutant that broke a rule.
    false_alarms: f64,
    /// The medians of the runs until a mutant was found, and of the lines and faults of the shrunk scenarios.
    runs: f64,
    lines: f64,
    faults: f64,
}

impl Figures {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn of(table: &SeededTable) -> Self {
        let found: Vec<(&SeededRow, &Finding)> =
            table.rows.iter().filter_map(|row| Some((row, row.found.as_ref()?))).collect();
        let median_of = |count: &dyn Fn(&(&SeededRow, &Finding)) -> usize| {
            median(found.iter().map(|found| count(found) as f64).collect())
        };
        Self {
            false_alarms: 100.0 * table.alarms() as f64 / table.clean_runs.max(1) as f64,
            runs: median_of(&|(row, _)| usize::try_from(row.runs).unwrap_or(usize::MAX)),
            lines: median_of(&|(_, finding)| lines(finding)),
            faults: median_of(&|(_, finding)| finding.case.faults()),
        }
    }
}

/// The median; 0 without numbers.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.get(middle) {
        None => 0.0,
        Some(upper) if numbers.len() % 2 == 1 => *upper,
        Some(upper) => f64::midpoint(numbers[middle - 1], *upper),
    }
}

/// The table and the summary as Markdown, which is readable as text too.
fn to_text(table: &SeededTable) -> String {
    let mut text =
        "| planted bug | component | after | found by | runs | lines | faults |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for row in &table.rows {
        let SeededMutant { name, component, bug, .. } = row.mutant;
        let (by, lines, faults) = match &row.found {
            Some(found) => {
                (format!("`{}`", found.oracle), lines(found).to_string(), found.case.faults().to_string())
            }
            None if row.had_effect => ("not found".to_owned(), String::new(), String::new()),
            None => ("no effect".to_owned(), String::new(), String::new()),
        };
        let _ =
            writeln!(text, "| `{name}` | {component} | {bug} | {by} | {} | {lines} | {faults} |", row.runs);
    }
    text + "\n" + &summary(table)
}

fn summary(table: &SeededTable) -> String {
    let Figures { false_alarms, runs, lines, faults } = Figures::of(table);
    let mut text = format!(
        "Found {} of {}. Without one, {} of {} broke a rule ({false_alarms:.1}% false alarms).\n",
        table.found(),
        counted(table.rows.len(), "planted bug"),
        table.alarms(),
        counted(usize::try_from(table.clean_runs).unwrap_or(usize::MAX), "run"),
    );
    if table.found() > 0 {
        let _ = writeln!(
            text,
            "Medians of those found: {runs} runs, and a shrunk scenario of {lines} lines with {faults} faults."
        );
    }
    for (run, cause) in &table.clean_findings {
        let _ = writeln!(text, "* run {run}: {cause}");
    }
    text
}

/// The number of lines of a scenario without its comments.
fn lines(finding: &Finding) -> usize {
    finding.scenario().lines().filter(|line| !line.starts_with('#')).count()
}

fn to_json(table: &SeededTable, seed: u64) -> String {
    let row = |row: &SeededRow| {
        let SeededMutant { name, component, bug, text, .. } = row.mutant;
        let found = row.found.as_ref();
        json!({
            "name": name, "component": component, "bug": bug, "text": text,
            "oracle": found.map(|found| &found.oracle),
            "cause": found.map(|found| &found.cause),
            "runs": row.runs,
            "hadEffect": row.had_effect,
            "lines": found.map(lines),
            "faults": found.map(|found| found.case.faults()),
            "scenario": found.map(Finding::scenario),
        })
    };
    let problems: Vec<Value> =
        table.clean_findings.iter().map(|(run, cause)| json!({ "run": run, "cause": cause })).collect();
    let Figures { false_alarms, runs, lines, faults } = Figures::of(table);
    let document = json!({
        "seed": seed,
        "plantedBugs": table.rows.iter().map(row).collect::<Vec<_>>(),
        "found": table.found(),
        "soundRuns": table.clean_runs,
        "soundFindings": problems,
        "falseAlarmPercent": false_alarms,
        "medians": { "runs": runs, "lines": lines, "faults": faults },
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).abs() < f64::EPSILON);
    }

    #[test]
    fn the_table_ends_with_a_summary() {
        let mutant = SeededMutant::find("uncordon-forgotten").unwrap();
        let rows = vec![SeededRow { mutant, found: None, runs: 4, had_effect: true }];
        let clean_findings = vec![(2, "quiet: x".to_owned()), (2, "settled: y".to_owned())];
        let table = SeededTable { rows, clean_runs: 8, clean_findings };
        assert_eq!(
            to_text(&table),
            "| planted bug | component | after | found by | runs | lines | faults |\n|---|---|---|---|---|---|---|\n\
             | `uncordon-forgotten` | machine-config-controller/drain | OCPBUGS-62341 | not found | 4 |  |  |\n\n\
             Found 0 of 1 planted bug. Without one, 1 of 8 runs broke a rule (12.5% false alarms).\n\
             * run 2: quiet: x\n* run 2: settled: y\n"
        );
    }
}
