//! Why a scenario failed: what was seen, who waited for what, what happened last, which requests were refused.

use std::collections::BTreeMap;

use serde::Serialize;
use windtunnel_core::resources::EVENTS;
use windtunnel_core::text::clock_time;
use windtunnel_update_status::status::Details;

use super::lanes;
use crate::record::{Event, Record};
use crate::report::{ScenarioResult, status};

/// So many of the last changes and refusals are told.
const ROWS: usize = 8;

/// How lines begin that tell who waits for what.
const PENDING: &str = "  pending: ";

/// All that helps to see why.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    /// `FILE:LINE:COLUMN`, as far as it is known.
    place: String,
    /// The step that failed and what was seen instead.
    message: String,
    /// Who waited for what.
    pending: Vec<(String, String)>,
    /// The last changes before the end.
    last: Vec<Row>,
    /// The last refusals, the same one told once.
    refusals: Vec<Row>,
    /// What `oc adm upgrade status` would have printed.
    status: Option<String>,
}

/// A change or a refusal.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    at: String,
    object: String,
    by: String,
    text: String,
    /// How often; 1 for what is told by itself.
    times: usize,
}

/// Why the result is a failure; `None`: it is none.
pub(super) fn of(
    result: &ScenarioResult,
    record: Option<&Record>,
    events: &[lanes::Event],
) -> Option<Failure> {
    let text = result.failure.as_ref()?;
    let (pending, message): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with(PENDING));
    let pending = pending.iter().filter_map(|line| {
        let (who, what) = line.strip_prefix(PENDING)?.split_once(" waits for: ")?;
        Some((who.to_owned(), what.to_owned()))
    });
    let place = result.failed_at.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
    Some(Failure {
        place: if result.file.is_empty() { String::new() } else { result.file.clone() + &place },
        message: message.join("\n"),
        pending: pending.collect(),
        last: last(events),
        refusals: record.map(refusals).unwrap_or_default(),
        status: record.and_then(|record| status::of(record, record.end(), Details::Operators)),
    })
}

/// The last changes of objects, the oldest first.
fn last(events: &[lanes::Event]) -> Vec<Row> {
    let changes: Vec<&lanes::Event> = events.iter().filter(|event| !event.by.is_empty()).collect();
    let first = changes.len().saturating_sub(ROWS);
    let rows = changes[first..].iter().map(|event| Row {
        at: clock_time(jiff::SignedDuration::from_millis(event.at)),
        object: event.object.clone(),
        by: event.by.clone(),
        text: event.text.clone(),
        times: 1,
    });
    rows.collect()
}

/// What the API server refused during the run, the latest last.
fn refusals(record: &Record) -> Vec<Row> {
    let mut found: BTreeMap<(&str, String, String), (usize, usize)> = BTreeMap::new();
    let run = record.entries.iter().enumerate().filter(|(_, entry)| !record.is_set_up(entry));
    for (index, entry) in run {
        let Event::Write(write) = &entry.event else { continue };
        // That an Event was there already tells nothing.
        if write.code >= 400 && write.key.plural != EVENTS.plural {
            let object = format!("{} {}/{}", write.verb, write.kind, write.key.name);
            let text = format!("{} {}", write.code, write.message);
            let (latest, times) = found.entry((&write.by, object, text)).or_default();
            (*latest, *times) = (index, *times + 1);
        }
    }
    let mut latest: Vec<_> = found.into_iter().collect();
    latest.sort_by_key(|(_, (index, _))| *index);
    let first = latest.len().saturating_sub(ROWS);
    let rows = latest.drain(first..).map(|((by, object, text), (index, times))| Row {
        at: clock_time(record.entries[index].at.duration_since(record.header.epoch)),
        object,
        by: by.to_owned(),
        text,
        times,
    });
    rows.collect()
}
