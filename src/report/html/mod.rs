//! Runs as one self-contained HTML page: no network, no other file. Without JavaScript it lists the scenarios
//! with their steps and failures; with JavaScript it also shows timelines that can be zoomed.
//!
//! The template is `html/page.html`. The template engine escapes all text. The data of the timelines is
//! compressed (see [`packed`]), and the page's policy allows only its own script. The page contains no wall
//! time, so the same results give the same page.
//!
//! `states.rs` has the states of the lanes of an object, `follow.rs` the place of events, `lanes.rs` the data of
//! groups, `statuses.rs` the status at the cursor, `logs.rs` the log lines. `timeline.js` and the other scripts draw
//! them; nothing builds them.

mod data;
mod diff;
mod failure;
mod follow;
mod lanes;
mod logs;
mod packed;
mod section;
mod states;
mod statuses;
mod steps;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use sha2::{Digest as _, Sha256};
use windtunnel_core::text::clock_time;

use self::data::Data;
use self::packed::{Shared, pack};
use self::section::{Section, State};
use super::ScenarioResult;
use crate::record::Record;

/// The style of the page, which the pages of other commands share.
pub const STYLE: &str = include_str!("page.css");

const SCRIPT: &str = concat!(
    include_str!("words.js"),
    include_str!("unpack.js"),
    include_str!("draw.js"),
    include_str!("details.js"),
    include_str!("input.js"),
    include_str!("logs.js"),
    include_str!("status.js"),
    include_str!("timeline.js"),
    include_str!("page.js"),
);

/// One scenario of the page.
#[derive(Debug, Clone, Copy)]
pub struct Scenario<'a> {
    /// Its result.
    pub result: &'a ScenarioResult,
    /// The parts of its record that the page shows, if it ran.
    pub details: Option<&'a Details>,
    /// The command that reruns it; empty if unknown.
    pub rerun: &'a str,
}

/// The error of a template that does not fit its values, which the tests rule out.
pub type PageError = minijinja::Error;

/// Renders the page; `command` is the command of the run, such as `windtunnel run`. Failed scenarios come
/// first, then flakes, skipped ones and those that passed.
///
/// # Errors
/// An error of the template engine.
pub fn render(command: &str, scenarios: &[Scenario<'_>]) -> Result<String, PageError> {
    let data: Vec<&Data> = scenarios.iter().filter_map(|scenario| Some(&scenario.details?.data)).collect();
    let shared = Shared::of(&data);
    let numbered = scenarios.iter().zip(1..);
    let mut sections: Vec<Section> =
        numbered.map(|(scenario, number)| Section::of(number, scenario, &shared)).collect();
    sections.sort_by_key(|section| section.state);
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
        style => STYLE,
        script => SCRIPT,
        script_hash => STANDARD.encode(Sha256::digest(SCRIPT.as_bytes())),
        counts => Serde(State::counts(&sections)),
        failed => sections.iter().filter(|section| section.state == State::Fail).count(),
        seeds => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        ids => Serde(ids(scenarios)),
        tags => Serde(tags(scenarios)),
        covered => clock_time(covered),
        shared => pack(&shared),
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

/// Returns all tags in order, each with the number of its scenarios.
fn tags<'a>(scenarios: &[Scenario<'a>]) -> Vec<(&'a str, usize)> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in scenarios.iter().flat_map(|scenario| &scenario.result.tags) {
        *found.entry(tag).or_default() += 1;
    }
    found.into_iter().collect()
}

/// The parts of a record that the page shows. They need less memory than the record.
#[derive(Debug)]
pub struct Details {
    /// The first characters of the record's hash.
    record: String,
    steps: Vec<steps::Step>,
    failure: Option<failure::Failure>,
    data: Data,
}

impl Details {
    /// Returns the details of a scenario's result and its record.
    pub fn of(result: &ScenarioResult, record: &Record) -> Self {
        /// This many characters of a hash distinguish records.
        const HASH: usize = 12;
        let lanes = follow::follow(record);
        Self {
            record: record.hash()[..HASH].to_owned(),
            steps: steps::step_rows(record),
            failure: failure::explain(result, Some(record), &lanes.events),
            data: Data::of(record, lanes),
        }
    }
}
