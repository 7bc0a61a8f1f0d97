//! `windtunnel explore --mutants`: how many deliberately broken components the exploration finds.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windtunnel_core::text::counted;

use super::budgets::Budgets;
use super::{Exit, GRACE, lock};
use crate::cli::args::{ExploreArgs, ExploreFormat};
use crate::cli::print_output;
use crate::cli::terminal::interrupt::Interrupt;
use crate::explore::{MutantRow, MutantTable, Settings, find_mutants};

pub(super) fn explore(
    args: &ExploreArgs,
    settings: &Settings<'_>,
    count: u32,
    interrupt: &Interrupt,
) -> Exit {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let budgets = Budgets::of(args, interrupt);
    let done: Arc<Mutex<Vec<MutantRow>>> = Arc::default();
    let (rows, format, seed) = (Arc::clone(&done), args.format, args.seed);
    interrupt.finish_within(GRACE, move || {
        let table = MutantTable { rows: lock(&rows).clone(), ..MutantTable::default() };
        print_output(&output(&table, format, seed));
    });
    let stop = |number| budgets.is_over(number);
    let table = find_mutants(settings, count, &stop, &|row| lock(&done).push(row.clone()));
    interrupt.has_finished();
    print_output(&output(&table, args.format, args.seed));
    let all_found = table.found() == table.rows.len();
    interrupt.exit().unwrap_or(if all_found { Exit::Passed } else { Exit::Failed })
}

fn output(table: &MutantTable, format: ExploreFormat, seed: u64) -> String {
    match format {
        ExploreFormat::Text => to_text(table),
        ExploreFormat::Json => to_json(table, seed),
    }
}

/// The table as Markdown, which is readable as text too.
fn to_text(table: &MutantTable) -> String {
    let mut text = "| mutant | found in run | by |\n|---|---|---|\n".to_owned();
    for MutantRow { mutant, found, had_effect } in &table.rows {
        let (run, by) = match found {
            Some((run, cause)) => (run.to_string(), cause.clone()),
            None if *had_effect => ("not found".to_owned(), String::new()),
            None => ("no effect".to_owned(), String::new()),
        };
        let _ = writeln!(text, "| {} | {run} | {} |", cell(mutant), cell(&by));
    }
    let effective = table.rows.iter().filter(|row| row.had_effect).count();
    let _ = writeln!(
        text,
        "\nfound {} of {} ({effective} with an effect); {} without a mutant, {} of them broke a rule",
        table.found(),
        counted(table.rows.len(), "mutant"),
        counted(table.clean_runs, "run"),
        table.alarms(),
    );
    for (run, cause) in &table.clean_findings {
        let _ = writeln!(text, "  run {run}: {cause}");
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn to_json(table: &MutantTable, seed: u64) -> String {
    let row = |MutantRow { mutant, found, had_effect }: &MutantRow| {
        let (run, cause) =
            found.as_ref().map_or((Value::Null, Value::Null), |(run, cause)| (json!(run), json!(cause)));
        json!({ "mutant": mutant, "foundInRun": run, "cause": cause, "hadEffect": had_effect })
    };
    let problems: Vec<Value> =
        table.clean_findings.iter().map(|(run, cause)| json!({ "run": run, "cause": cause })).collect();
    let document = json!({
        "seed": seed,
        "mutants": table.rows.iter().map(row).collect::<Vec<_>>(),
        "found": table.found(),
        "soundRuns": table.clean_runs,
        "soundFindings": problems,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_what_was_found() {
        let row = |mutant: &str, found: Option<(u64, String)>, had_effect| MutantRow {
            mutant: mutant.to_owned(),
            found,
            had_effect,
        };
        let rows = vec![
            row("kubelet: Pod: creation skipped", Some((2, "converges: Node is not Ready".to_owned())), true),
            row("operator: a|b", None, false),
        ];
        let table = MutantTable { rows, clean_runs: 3, clean_findings: vec![(1, "quiet: x".to_owned())] };
        assert_eq!(
            to_text(&table),
            "| mutant | found in run | by |\n|---|---|---|\n\
             | kubelet: Pod: creation skipped | 2 | converges: Node is not Ready |\n| operator: a\\|b | no effect |  |\n\n\
             found 1 of 2 mutants (1 with an effect); 3 runs without a mutant, 1 of them broke a rule\n  run 1: quiet: x\n"
        );
    }
}
