//! The explanation of a failed scenario: the observed state, pending waits, last changes and rejected
//! requests.

use std::collections::BTreeMap;

use serde::Serialize;
use windtunnel_core::resources::EVENTS;
use windtunnel_core::text::clock_time;
use windtunnel_update_status::status::Details;

use super::lanes;
use crate::record::{Event, FailureKind, Record};
use crate::report::{ScenarioResult, status_text};

/// The maximum number of last changes and of rejections.
const ROWS: usize = 8;

/// The prefix of a line with a component and what it waits for.
const PENDING: &str = "  pending: ";

#[derive(Debug, Clone, Serialize)]
pub(super) struct Failure {
    /// `FILE:LINE:COLUMN`, as far as it is known.
    place: String,
    /// `product`, `scenario` or `tool`; empty if unknown.
    kind: &'static str,
    /// The failed step and the observed state.
    message: String,
    /// Components and what they wait for.
    pending: Vec<(String, String)>,
    last: Vec<Row>,
    /// The last rejections; repeated ones are merged.
    rejections: Vec<Row>,
    status: Option<String>,
}

/// A change or a rejection.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    at: String,
    object: String,
    by: String,
    text: String,
    /// The number of times; 1 for a change.
    times: usize,
}

/// Returns the explanation of a failure; `None` if the scenario did not fail.
pub(super) fn explain(
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
        kind: result.failure_kind.map_or("", FailureKind::as_str),
        message: message.join("\n"),
        pending: pending.collect(),
        last: last(events),
        rejections: record.map(rejections).unwrap_or_default(),
        status: record.and_then(|record| status_text::render_at(record, record.end(), Details::Operators)),
    })
}

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

/// Returns the requests that the API server rejected during the run, latest last.
fn rejections(record: &Record) -> Vec<Row> {
    let mut found: BTreeMap<(&str, String, String), (usize, usize)> = BTreeMap::new();
    let run = record.entries.iter().enumerate().filter(|(_, entry)| !record.is_set_up(entry));
    for (index, entry) in run {
        let Event::Write(write) = &entry.event else { continue };
        // A conflict over an existing Event is not interesting.
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
