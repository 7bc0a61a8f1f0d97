//! The outcomes as a table for people, and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::outcome::{Kind, Outcome};

/// The most findings of an area that are listed beneath the table. The JSON has all.
const LISTED: usize = 20;

/// The arguments of a run, to repeat it.
#[derive(Debug, Clone)]
pub struct Start {
    /// The seed of all draws.
    pub seed: u64,
    /// The minutes of the run.
    pub minutes: f64,
    /// The program that was tortured.
    pub program: String,
}

impl Start {
    /// The command that repeats an area.
    fn command(&self, area: &str) -> String {
        let Self { seed, minutes, program } = self;
        format!(
            "cargo run --release -p windtunnel-torture -- --only {area} --seed {seed} --minutes {minutes} --program {program}"
        )
    }
}

/// Whether nothing broke.
pub fn is_clean(outcomes: &[Outcome]) -> bool {
    outcomes.iter().all(|outcome| outcome.findings().is_empty())
}

/// The things that were done, as one line.
pub fn done(outcome: &Outcome) -> String {
    let parts = outcome.done().iter().map(|(number, what)| format!("{} {what}", grouped(*number)));
    parts.collect::<Vec<_>>().join(", ")
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The table, the findings, the remarks and the commands that repeat each area.
pub fn text(start: &Start, outcomes: &[Outcome]) -> String {
    let mut rows = vec![[&["area", "done"][..], &Kind::ALL.map(Kind::name)].concat()];
    let cells: Vec<Vec<String>> = outcomes.iter().map(row).collect();
    rows.extend(cells.iter().map(|row| row.iter().map(String::as_str).collect()));
    let mut text = aligned(&rows);
    for outcome in outcomes {
        let name = outcome.area().name();
        for finding in outcome.findings().iter().take(LISTED) {
            let _ = write!(text, "\n{name}: {}: {}", finding.kind.name(), finding.text);
        }
        let more = outcome.findings().len().saturating_sub(LISTED);
        if more > 0 {
            let _ = write!(text, "\n{name}: {more} further findings");
        }
        for note in outcome.notes() {
            let _ = write!(text, "\n{name}: {note}");
        }
    }
    text.push_str("\n\nto repeat an area:\n");
    for outcome in outcomes {
        let _ = writeln!(text, "  {}", start.command(outcome.area().name()));
    }
    text
}

fn row(outcome: &Outcome) -> Vec<String> {
    let mut cells = vec![outcome.area().name().to_owned(), done(outcome)];
    cells.extend(Kind::ALL.map(|kind| outcome.number(kind).to_string()));
    cells
}

/// Rows with columns of equal width.
fn aligned(rows: &[Vec<&str>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// The outcomes as a JSON document.
pub fn json(start: &Start, outcomes: &[Outcome]) -> Value {
    let areas: Vec<Value> = outcomes.iter().map(|outcome| area(start, outcome)).collect();
    json!({ "seed": start.seed, "minutes": start.minutes, "clean": is_clean(outcomes), "areas": areas })
}

fn area(start: &Start, outcome: &Outcome) -> Value {
    let name = outcome.area().name();
    let done: serde_json::Map<String, Value> =
        outcome.done().iter().map(|(number, what)| (what.clone(), json!(number))).collect();
    let findings: Vec<Value> = outcome
        .findings()
        .iter()
        .map(|finding| json!({ "kind": finding.kind.name(), "text": finding.text }))
        .collect();
    let mut area = json!({ "area": name, "done": done, "findings": findings, "notes": outcome.notes(),
        "reproduce": start.command(name) });
    for kind in Kind::ALL {
        area[kind.name()] = json!(outcome.number(kind));
    }
    area
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::Area;

    fn outcomes() -> (Start, Vec<Outcome>) {
        let mut kills = Outcome::new(Area::Kills);
        kills.count(1_234_567, "kills");
        kills.add(Kind::Lost, "m1: gone");
        let mut leaks = Outcome::new(Area::Leaks);
        leaks.count(10, "rounds");
        leaks.note("no /proc");
        (Start { seed: 7, minutes: 2.0, program: "windtunnel".to_owned() }, vec![kills, leaks])
    }

    #[test]
    fn the_text_has_a_row_for_each_area_its_findings_and_its_command() {
        let (start, outcomes) = outcomes();
        let expected = "\
area   done             lost  panics  growth  hangs  wrong
kills  1,234,567 kills  1     0       0       0      0
leaks  10 rounds        0     0       0       0      0

kills: lost: m1: gone
leaks: no /proc

to repeat an area:
  cargo run --release -p windtunnel-torture -- --only kills --seed 7 --minutes 2 --program windtunnel
  cargo run --release -p windtunnel-torture -- --only leaks --seed 7 --minutes 2 --program windtunnel
";
        assert_eq!(text(&start, &outcomes), expected);
    }

    #[test]
    fn the_json_has_all_numbers_and_says_whether_nothing_broke() {
        let (start, outcomes) = outcomes();
        let value = json(&start, &outcomes);
        assert_eq!(value["clean"], false);
        assert_eq!(value["areas"][0]["done"], json!({ "kills": 1_234_567 }));
        assert_eq!(value["areas"][0]["findings"], json!([{ "kind": "lost", "text": "m1: gone" }]));
        assert_eq!((&value["areas"][0]["lost"], &value["areas"][1]["lost"]), (&json!(1), &json!(0)));
        assert!(is_clean(&outcomes[1..]));
    }
}
