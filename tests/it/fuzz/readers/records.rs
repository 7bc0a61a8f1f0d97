//! Records of runs, in JSON lines.

use std::time::Duration;

use windtunnel::oracles::{Ending, judge};
use windtunnel::record::Record;
use windtunnel::report::story::Insights;
use windtunnel::report::{
    ScenarioResult, blame, draft, html, insights, json, junit, status_text, story, summary,
};
use windtunnel_core::text::visible;
use windtunnel_update_status::status::Details;

use super::{folder, read_damaged};

/// The width of timelines, in characters.
const WIDTH: usize = 100;

#[test]
fn damaged_records() {
    let valid = folder("tests/it/fuzz/readers/records", "jsonl");
    read_damaged("readers::records::damaged_records", &valid, read);
}

/// A record: printed in each form, judged, and written again.
fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(record) = Record::parse(&text) else { return };
    let _ = story::render(&record, WIDTH, Insights::Changed);
    let _ = story::tail(&record, WIDTH, 5);
    let _ = (insights::at_the_end(&record), draft::draft(&record), record.hash());
    for details in Details::NAMES.iter().filter_map(|name| Details::named(name)) {
        let _ = status_text::render_at(&record, record.end(), details);
    }
    let _ = judge(&record, Ending::of(&record));
    report(&record);
    check_lines(&text.replace("worker", HOSTILE));
    let lines = record.to_lines();
    let again = Record::parse(&lines).map(|record| record.to_lines());
    assert!(
        again.as_ref() == Ok(&lines),
        "a parsed record is written as lines that differ: {again:?}\n{lines}"
    );
}

/// A name that clears the screen, is a command for GitHub, and begins a line; as the text in a string of JSON.
const HOSTILE: &str = r"\u001b[2J\u009b2J\n::error::FORGED\nFORGED";

/// Checks that no name of a record begins a line of a report, and that files for CI systems have no command and no character that acts
/// on a terminal.
fn check_lines(text: &str) {
    let Ok(record) = Record::parse(text) else { return };
    let result = ScenarioResult::from_record(&record, "scenario.yaml");
    let shown = story::render(&record, WIDTH, Insights::Changed) + &summary::scenario(&result);
    let forged = shown.lines().find(|line| line.starts_with("FORGED"));
    assert!(forged.is_none(), "a name of a record begins a line of a report:\n{shown}");
    let suite = junit::Suite { name: "windtunnel run", options: Some(&[]), wall: Duration::from_secs(1) };
    let xml = junit::render(suite, &[(&result, Some(&record))], junit::Per::Scenario).unwrap_or_default();
    for text in [xml, draft::draft(&record).map(|draft| draft.text).unwrap_or_default()] {
        assert_eq!(visible(&text), text, "a report has characters that act on a terminal or a CI system");
    }
}

/// Renders the reports of `windtunnel run` about a record.
fn report(record: &Record) {
    let result = ScenarioResult::from_record(record, "scenario.yaml");
    let results = [(&result, Some(record))];
    let suite = junit::Suite { name: "windtunnel run", options: Some(&[]), wall: Duration::from_secs(1) };
    let _ = junit::render(suite, &results, junit::Per::Scenario);
    let _ = (json::render("windtunnel run", &results), blame::render(&results), summary::scenario(&result));
    let details = html::Details::of(&result, record);
    let scenario = html::Scenario { result: &result, details: Some(&details), rerun: "" };
    let _ = html::render("windtunnel run", &[scenario]);
}
