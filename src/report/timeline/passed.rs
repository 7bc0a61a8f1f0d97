//! The short timeline of a run that passed: its steps, and what changed in ClusterVersion, operators, pools and nodes.

use super::changes::{self, Change};
use super::rows::{Group, Rows};
use super::{TIME_WIDTH, add_event, all_rows, new_rows, table};
use crate::record::{Event, Record, WriteEvent};
use crate::report::steps::marked;
use std::collections::BTreeSet;
use windtunnel_core::{Object, condition};

/// The most rows of a timeline that is not shortened.
const ROWS_MAX: usize = 50;

/// Renders the timeline of a run that passed for a terminal of `width` columns; 0 truncates nothing. A short one is the same
/// as that of [`super::render`]. Of a longer one it keeps the ends of steps, the output of commands, and the main changes of
/// ClusterVersion, operators, pools and nodes, and says how many rows are left out.
pub fn render_passed(record: &Record, width: usize) -> String {
    let epoch = record.header.epoch;
    let all = all_rows(record);
    let all = all.visible_rows();
    if all.len() <= ROWS_MAX {
        return table(&all, epoch, width);
    }
    let main = main_rows(record);
    let main = main.visible_rows();
    let left_out = all.len().saturating_sub(main.len());
    let note = format!("{:>TIME_WIDTH$}  {left_out} more rows with --verbose\n", "...");
    table(&main, epoch, width) + if left_out > 0 { &note } else { "" }
}

fn main_rows(record: &Record) -> Rows {
    let mut rows = new_rows(record);
    let mut rejections = BTreeSet::new();
    for entry in record.entries.iter().filter(|entry| !record.is_set_up(entry)) {
        match &entry.event {
            // Components repeat rejected writes.
            Event::Write(write) if write.code >= 400 => {
                if is_main_rejection(write) && rejections.insert((&write.key, &write.message)) {
                    add_event(&mut rows, entry);
                }
            }
            Event::Write(write) => {
                let main =
                    changes::changes_of_write(write).into_iter().filter(|change| is_main(write, change));
                for change in main {
                    let group = Group { kind: &write.kind, name: &write.key.name };
                    rows.add_grouped(entry.at, group, change.text, &write.by);
                }
            }
            Event::Outcome { text, failure: None, held_before, .. } => {
                rows.add_step(entry.at, format!("ok {}", marked(text, *held_before)));
            }
            Event::Outcome { .. }
            | Event::Command { .. }
            | Event::Kubernetes { .. }
            | Event::Fault { .. } => {
                add_event(&mut rows, entry);
            }
            Event::Step { .. } | Event::Alert(_) | Event::Process { .. } => {}
        }
    }
    rows
}

/// Returns whether a rejection is one of the main ones. Components live with conflicts and missing objects.
fn is_main_rejection(write: &WriteEvent) -> bool {
    ![404, 409].contains(&write.code)
}

/// Returns whether a change is one of the main ones. Messages, progress, and states that a node passes through are not.
fn is_main(write: &WriteEvent, Change { subject, text }: &Change) -> bool {
    match write.kind.as_str() {
        "ClusterVersion" => {
            ["request", "history", "channel"].contains(&&**subject) || has_new_status(write, subject)
        }
        "ClusterOperator" => {
            let is_known = subject != "condition Progressing";
            subject == "version operator" || is_known && has_new_status(write, subject)
        }
        "MachineConfigPool" => subject != "condition Updating" && has_new_status(write, subject),
        "Node" => text.starts_with("state=") && text != "state=Working",
        _ => false,
    }
}

/// Returns whether the subject is a condition whose status changed.
fn has_new_status(write: &WriteEvent, subject: &str) -> bool {
    let Some(kind) = subject.strip_prefix("condition ") else { return false };
    let status = |object: Option<&Object>| {
        object.and_then(|object| Some(condition::find_in_status(object, kind)?["status"].clone()))
    };
    status(write.before.as_ref()) != status(write.after.as_ref())
}
