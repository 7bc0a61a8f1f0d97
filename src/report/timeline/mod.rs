//! The timeline of a run as a table: time, object, change and writer, with the steps of the scenario in
//! between.

pub(super) mod changes;
mod passed;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use windtunnel_core::alert::Alert;
use windtunnel_core::clock::Time;
use windtunnel_core::text::{clock_time, one_line, truncate};

use crate::record::{Entry, Event, INSTALLER, Record, WriteEvent};
use crate::report::headline;
use crate::report::steps::marked;
pub use passed::render_passed;
use rows::{Row, Rows, Span};

/// The width of the time column: `H:MM:SS`.
const TIME_WIDTH: usize = 7;

/// The minimum width of the output, even for narrower terminals.
const WIDTH_MIN: usize = 72;

/// The minimum width of the writer's column: the length of `cluster-version-operator`.
const BY_WIDTH: usize = 24;

/// The width of the column of changes if nothing is truncated.
const CHANGE_WIDTH_UNCUT: usize = 60;

/// Renders the timeline of a record for a terminal of `width` columns; 0 truncates nothing. It leaves out
/// Lease renewals and Events, and shows the set-up as one line. Of lines that differ only in digits it keeps
/// the first and the last, but all lines about requests, history and replicas.
pub fn render(record: &Record, width: usize) -> String {
    table(&all_rows(record).visible_rows(), record.header.epoch, width)
}

fn all_rows(record: &Record) -> Rows {
    let mut rows = new_rows(record);
    record
        .entries
        .iter()
        .filter(|entry| !record.is_set_up(entry))
        .for_each(|entry| add_event(&mut rows, entry));
    rows
}

/// Returns the row of the set-up.
fn new_rows(record: &Record) -> Rows {
    let mut rows = Rows::default();
    let set_up: Vec<&Entry> = record.entries.iter().filter(|entry| record.is_set_up(entry)).collect();
    if !set_up.is_empty() {
        let text = format!("cluster installed: {} objects", written(&set_up));
        rows.add(record.header.epoch, "", "set-up", text, INSTALLER);
    }
    rows
}

fn add_event(rows: &mut Rows, Entry { at, event }: &Entry) {
    let at = *at;
    match event {
        Event::Write(write) => add_write(rows, at, write),
        Event::Step { text } => rows.add_step(at, format!("> {text}")),
        Event::Outcome { text, failure: None, held_before, .. } => {
            let ended = format!("ok {}", marked(text, *held_before));
            rows.end_step(at, ended, &format!("> {text}"));
        }
        Event::Outcome { text, failure: Some(failure), .. } => {
            rows.add_step(at, format!("FAILED {text}"));
            // The result below the timeline has the whole lines.
            let lines: Vec<String> = failure.lines().map(headline).collect();
            rows.add_below(at, &lines.join("\n"));
        }
        Event::Command { stdout, stderr, .. } => {
            rows.add_below(at, stdout);
            rows.add_below(at, stderr);
        }
        Event::Kubernetes { minor } => {
            rows.add(at, "kube-apiserver", "minor", format!("serves Kubernetes 1.{minor}"), "");
        }
        Event::Alert(alert) => {
            let (change, subject) = alert_text(alert);
            rows.add(at, &format!("Alert/{}", alert.name()), &subject, change, "prometheus");
        }
        Event::Process { program, pod, started } => {
            let object = running_object(program, pod);
            let change = format!("{program} {}", if *started { "started" } else { "ended" });
            rows.add(at, &object, "process", change, "");
        }
        Event::Fault { text } => rows.add_step(at, format!("! {text}")),
    }
}

/// Returns the object that a process belongs to: its pod, or the program itself if it runs beside the cluster.
pub(super) fn running_object(program: &str, pod: &str) -> String {
    match pod.rsplit('/').next().unwrap_or_default() {
        "" => format!("Program/{program}"),
        pod => format!("Pod/{pod}"),
    }
}

/// Returns the state of an alert with its own labels, and these labels alone.
pub(super) fn alert_text(alert: &Alert) -> (String, String) {
    // Labels that all alerts of this name share are not interesting.
    let own =
        alert.labels.iter().filter(|(name, _)| !["alertname", "namespace", "severity"].contains(&&***name));
    let about: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
    let about = about.join(" ");
    (format!("{} {about}", alert.state).trim_end().to_owned(), about)
}

/// Returns the number of objects that these entries wrote.
fn written(entries: &[&Entry]) -> usize {
    let writes = entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if write.after.is_some() => Some(&write.key),
        _ => None,
    });
    writes.collect::<BTreeSet<_>>().len()
}

fn add_write(rows: &mut Rows, at: Time, write: &WriteEvent) {
    let object = format!("{}/{}", write.kind, write.key.name);
    for change in changes::changes_of_write(write) {
        rows.add(at, &object, &change.subject, change.text, &write.by);
    }
}

/// Formats the rows; a step spans all columns after the time.
fn table(rows: &[&Row], epoch: Time, width: usize) -> String {
    let widths = Widths::of(rows, width);
    let mut out = String::new();
    for row in rows {
        let time = clock_time(row.at.duration_since(epoch));
        let line = if row.span == Span::Step {
            format!("{time:>TIME_WIDTH$}  {}", limit(&row.change, widths.step))
        } else if row.span == Span::Below {
            // The output of commands is never truncated, and lines about a failure only if they are very long.
            format!("{:TIME_WIDTH$}    {}", "", row.change)
        } else {
            let Widths { object, change, by, .. } = widths;
            let cells = [limit(&row.object, object), limit(&row.change, change), limit(&row.by, by)];
            // If nothing is truncated, a long change shifts the last column of its own row only.
            let (object, change) =
                (object.unwrap_or(widths.object_widest), change.unwrap_or(CHANGE_WIDTH_UNCUT));
            format!("{time:>TIME_WIDTH$}  {:object$}  {:change$}  {}", cells[0], cells[1], cells[2])
        };
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The widths of columns; `None` is unlimited.
#[derive(Debug, Clone, Copy)]
struct Widths {
    object: Option<usize>,
    change: Option<usize>,
    by: Option<usize>,
    step: Option<usize>,
    object_widest: usize,
}

impl Widths {
    fn of(rows: &[&Row], width: usize) -> Self {
        let widest = |pick: fn(&Row) -> &str| {
            let changes = rows.iter().filter(|row| row.span == Span::Columns);
            changes.map(|row| pick(row).chars().count()).max().unwrap_or(0)
        };
        let (object_widest, by_widest) = (widest(|row| &row.object), widest(|row| &row.by));
        if width == 0 {
            return Self { object: None, change: None, by: None, step: None, object_widest };
        }
        let width = width.max(WIDTH_MIN);
        let (object, by) = (object_widest.min(width / 4), by_widest.min((width / 6).max(BY_WIDTH)));
        Self {
            object: Some(object),
            change: Some(width.saturating_sub(TIME_WIDTH + object + by + 6)),
            by: Some(by),
            step: Some(width.saturating_sub(TIME_WIDTH + 2)),
            object_widest,
        }
    }
}

/// Returns a text as a part of a line, truncated to a width.
fn limit(text: &str, width: Option<usize>) -> String {
    let text = one_line(text);
    width.map_or_else(|| text.to_string(), |width| truncate(&text, width))
}
