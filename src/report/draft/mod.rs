//! Drafts a scenario from a record, for the user to edit.
//!
//! A record has events, not their causes. Requests of an administrator become steps. Failures of operators
//! and nodes become faults. The reactions of the cluster-version operator become expectations.
//!
//! * `start.rs`: the cluster at the start, with pools and objects of users
//! * `events.rs`: the steps and faults that a draft recognizes; `requests.rs` has other requests of people
//! * `omissions.rs`, `lost.rs`: what a draft leaves out

mod events;
mod lost;
mod nodes_away;
mod omissions;
mod requests;
mod start;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::FEATURE_GATES;
use windtunnel_core::yaml::{comment, quoted, scalar};
use windtunnel_core::{Object, View, cluster_version};

use crate::record::{Event, Record};
use events::{DraftEvent, events};
use lost::Lost;
use start::Start;

/// The shortest gap that becomes a step of its own.
const SHORT: SignedDuration = SignedDuration::from_mins(1);
/// The shortest time limits of an update, and of any other expectation.
const UPDATE: SignedDuration = SignedDuration::from_hours(3);
const ANYTHING: SignedDuration = SignedDuration::from_mins(30);
/// The time limit of the expectation for a record without events.
const NOTHING: SignedDuration = SignedDuration::from_mins(10);

/// A drafted scenario.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The scenario, as YAML. Comments at its start have what it leaves out.
    pub text: String,
    /// Its omissions: a line for each kind of things, with their number and the reason.
    pub lost: Vec<String>,
}

/// Drafts the scenario.
///
/// # Errors
/// The record does not start with a ClusterVersion that has a completed update.
pub fn draft(record: &Record) -> Result<Draft, String> {
    let start = record.header.epoch;
    let view = view_at_start(record);
    let version = view.cluster_version();
    let version =
        version.ok_or("expected ClusterVersion `version` at the start of the record, found none")?;
    let completed = cluster_version::completed_version(version)
        .ok_or("expected a completed update in the history at the start of the record")?;
    let mut lost = Lost::default();
    let Start { text: cluster, pools } = start::render(&view, &mut lost);
    let mut events = events(record, &mut lost);
    events.retain(|event| !event.is_pause_at_start(&pools, start));
    omissions::taints(&view, &mut lost);
    omissions::secrets(record, &mut lost);
    let is_drafted = |step: &str| events.iter().any(|event| event.is_described_by(step));
    omissions::faults(record, is_drafted, &mut lost);
    let lost = lost.lines();
    let mut text = format!(
        "# Drafted from a record: requests and failures became steps, reports of the cluster became expectations.\n\
         # Time limits are generous and causes are guesses: a failure is a fault of the object that reported it. Edit it.\n\
         {}name: {}\ncluster:\n  version: {}\n{cluster}",
        omitted(&lost),
        quoted(&format!("{}, drafted", record.header.scenario)),
        scalar(completed),
    );
    let feature_set =
        view.get(&FEATURE_GATES, "", "cluster").map_or("", |gate| gate.text("/spec/featureSet"));
    if !feature_set.is_empty() {
        let _ = writeln!(text, "  feature-set: {}", scalar(feature_set));
    }
    let _ = writeln!(text, "  channel: {}", quoted(version.text("/spec/channel")));
    let releases: BTreeSet<&str> = events.iter().filter_map(|event| event.release()).collect();
    let releases: Vec<&str> = releases.into_iter().filter(|release| *release != completed).collect();
    if !releases.is_empty() {
        text += "releases:\n";
        for release in releases {
            let _ = writeln!(text, "  {}:", scalar(release));
        }
    }
    text += "timeline:\n";
    text += &timeline(start, &events, version);
    Ok(Draft { text, lost })
}

/// Returns the cluster before the first step and the first request of a person.
fn view_at_start(record: &Record) -> View {
    let mut view = View::default();
    for entry in record.entries.iter().take_while(|entry| entry.at <= record.header.epoch) {
        match &entry.event {
            Event::Step { .. } => break,
            Event::Write(write) if !record.is_set_up(entry) && omissions::is_request(write) => break,
            Event::Write(write) => write.change().iter().for_each(|change| view.apply(change)),
            _ => {}
        }
    }
    view
}

/// Returns comments about what a draft leaves out; empty if that is nothing.
fn omitted(lost: &[String]) -> String {
    if lost.is_empty() {
        return String::new();
    }
    let list: String = lost.iter().map(|line| comment(&format!("- {line}"))).collect();
    comment("The record has more, which this draft leaves out:") + &list
}

/// Renders the steps, each after the time that passed before it.
fn timeline(start: Time, events: &[DraftEvent], version: &Object) -> String {
    let mut text = String::new();
    let mut now = start;
    for event in events {
        let gap = event.at.duration_since(now);
        match event.expected() {
            None => {
                if gap >= SHORT {
                    let _ = writeln!(text, "- advance: {}", span(gap));
                }
                let _ = writeln!(text, "- {}", event.step());
            }
            Some(conditions) => {
                let least = if event.ends_update() { UPDATE } else { ANYTHING };
                let within = least.max(gap * 2);
                let _ = write!(
                    text,
                    "- expect:\n    object: ClusterVersion/version\n    conditions:\n{conditions}    within: {}\n",
                    span(within)
                );
            }
        }
        now = event.at;
    }
    if events.iter().all(|event| event.expected().is_none()) {
        let progressing = windtunnel_core::condition::find(version.conditions(), "Progressing");
        let status = progressing.and_then(|condition| condition["status"].as_str()).unwrap_or("False");
        let _ = write!(
            text,
            "- expect:\n    object: ClusterVersion/version\n    condition: {{type: Progressing, status: {}}}\n    within: {}\n",
            quoted(status),
            span(NOTHING)
        );
    }
    text
}

/// Formats a span in the syntax of scenarios, rounded up to whole minutes.
fn span(span: SignedDuration) -> String {
    let minutes = (span.as_secs() + 59) / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    }
}

/// Formats a flow map of the non-empty texts.
fn flow(fields: &[(&str, &str)]) -> String {
    let fields = fields.iter().filter(|(_, text)| !text.is_empty());
    let fields: Vec<String> = fields.map(|(name, text)| format!("{name}: {}", quoted(text))).collect();
    format!("{{{}}}", fields.join(", "))
}
