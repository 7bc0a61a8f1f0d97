//! Runs as one self-contained HTML page: no network, no other file. Without JavaScript it lists the scenarios
//! with their steps and failures; with JavaScript it also shows timelines that can be zoomed.
//!
//! The template is `html/page.html`. The template engine escapes all text. The data of the timelines is in
//! `<script type="application/json">` (see [`script_json`]), and the page's policy allows only its own
//! script. The page contains no wall time, so the same results give the same page.

mod diff;
mod failure;
mod follow;
mod lanes;
mod logs;
mod states;
mod steps;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use windtunnel_core::text::{clock_time, short_duration};

use super::ScenarioResult;
use crate::record::Record;

const SCRIPT: &str = concat!(
    include_str!("words.js"),
    include_str!("draw.js"),
    include_str!("details.js"),
    include_str!("input.js"),
    include_str!("logs.js"),
    include_str!("timeline.js"),
    include_str!("page.js"),
);

/// One scenario of the page.
#[derive(Debug, Clone, Copy)]
pub struct Scenario<'a> {
    /// Its result.
    pub result: &'a ScenarioResult,
    /// Its record, if it ran.
    pub record: Option<&'a Record>,
    /// The command that reruns it; empty if unknown.
    pub rerun: &'a str,
}

/// The error of a template that does not fit its values, which the tests rule out.
pub type PageError = minijinja::Error;

/// Renders the page; `command` is the command of the run, such as `windtunnel run`.
///
/// # Errors
/// An error of the template engine.
pub fn render(command: &str, scenarios: &[Scenario<'_>]) -> Result<String, PageError> {
    let sections: Vec<Section> = scenarios.iter().map(|scenario| Section::of(scenario)).collect();
    let failed = sections.iter().filter(|section| !section.passed).count();
    let covered = scenarios
        .iter()
        .fold(jiff::SignedDuration::ZERO, |sum, scenario| sum.saturating_add(scenario.result.virtual_time));
    let mut seeds: Vec<u64> = scenarios.iter().map(|scenario| scenario.result.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let mut templates = Environment::new();
    templates.add_template("page.html", include_str!("page.html"))?;
    templates.get_template("page.html")?.render(context! {
        command,
        version => env!("CARGO_PKG_VERSION"),
        style => include_str!("page.css"),
        script => SCRIPT,
        script_hash => STANDARD.encode(Sha256::digest(SCRIPT.as_bytes())),
        passed => sections.len() - failed,
        failed,
        seeds => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        ids => Serde(ids(scenarios)),
        covered => clock_time(covered),
        sections => Serde(sections),
    })
}

/// Returns all ids in order, each with the number of its first failed scenario on the page, or else its first
/// one, and whether all of its scenarios passed.
fn ids<'a>(scenarios: &[Scenario<'a>]) -> Vec<(&'a str, usize, bool)> {
    let mut found: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let place = (index + 1, scenario.result.passed());
        for id in &scenario.result.ids {
            let known = found.entry(id).or_insert(place);
            if known.1 && !place.1 {
                *known = place;
            }
        }
    }
    found.into_iter().map(|(id, (section, passed))| (id, section, passed)).collect()
}

/// The template's data of a scenario.
#[derive(Debug, Serialize)]
struct Section {
    name: String,
    file: String,
    ids: Vec<String>,
    seed: u64,
    passed: bool,
    time: String,
    rerun: String,
    /// The first characters of the record's hash.
    record: String,
    steps: Vec<steps::Step>,
    failure: Option<failure::Failure>,
    /// The data of its timeline; empty without a record.
    data: String,
}

/// The data that the script draws a timeline from.
#[derive(Debug, Serialize)]
struct Data {
    /// Milliseconds of cluster time.
    end: i64,
    groups: Vec<lanes::Titled>,
    events: Vec<texts::Event>,
    /// The distinct texts of events.
    texts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<logs::Logs>,
}

impl Section {
    fn of(scenario: &Scenario<'_>) -> Self {
        /// This many characters of a hash distinguish records.
        const HASH: usize = 12;
        let Scenario { result, record, rerun } = scenario;
        let lanes = record.map(follow::follow).unwrap_or_default();
        let failure = failure::explain(result, *record, &lanes.events);
        Self {
            name: result.name.clone(),
            file: result.file.clone(),
            ids: result.ids.clone(),
            seed: result.seed,
            passed: result.passed(),
            time: short_duration(jiff::SignedDuration::from_secs(result.virtual_time.as_secs())),
            rerun: (*rerun).to_owned(),
            record: record.map(|record| record.hash()[..HASH].to_owned()).unwrap_or_default(),
            steps: record.map(steps::step_rows).unwrap_or_default(),
            failure,
            data: record.map(|record| script_json(&data(record, lanes))).unwrap_or_default(),
        }
    }
}

fn data(record: &Record, lanes: lanes::Lanes) -> Data {
    let span = record.end().duration_since(record.header.epoch);
    let end = i64::try_from(span.as_millis()).unwrap_or(i64::MAX).max(0);
    let (groups, events) = lanes.finish(end);
    let (events, texts) = texts::once(&events);
    Data { end, groups, events, texts, logs: logs::logs(record) }
}

/// Serializes JSON for a `<script>` element. The result cannot end the element, begin a comment or break a
/// line.
fn script_json(value: &impl Serialize) -> String {
    // Serialization fails only for maps whose keys are not texts, and there are none.
    let json = serde_json::to_string(value).unwrap_or_default();
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out += &format!("\\u{:04x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out
}
