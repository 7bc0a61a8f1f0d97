//! The output of `oc adm upgrade status` over a run, for the cursor of the timeline.

use std::collections::BTreeSet;

use windtunnel_core::View;
use windtunnel_core::clock::Time;

use crate::record::{ActiveAlerts, Event, Record};
use crate::report::status_text;

/// The number of evenly spaced moments. The ends of steps come in addition.
const MOMENTS: i64 = 30;

/// Returns moments, in milliseconds since the start of the run, with the output at each; equal outputs that
/// follow each other once.
pub(super) fn statuses(record: &Record) -> Vec<(i64, String)> {
    let (mut view, mut alerts) = (View::default(), ActiveAlerts::default());
    let mut entries = record.entries.iter().peekable();
    let mut found: Vec<(i64, String)> = Vec::new();
    for at in moments(record) {
        while let Some(entry) = entries.next_if(|entry| entry.at <= at) {
            alerts.apply(entry);
            if let Event::Write(write) = &entry.event
                && let Some(change) = write.change()
            {
                view.apply(&change);
            }
        }
        let Some(text) = status_text::render_view(&view, alerts.list(), at) else { continue };
        if found.last().is_none_or(|(_, last)| *last != text) {
            found.push((at.as_millisecond() - record.header.epoch.as_millisecond(), text));
        }
    }
    found
}

/// Returns evenly spaced moments and the ends of steps.
fn moments(record: &Record) -> BTreeSet<Time> {
    let (epoch, end) = (record.header.epoch, record.end());
    let span = end.as_millisecond() - epoch.as_millisecond();
    let spaced = (0..=MOMENTS)
        .filter_map(|number| Time::from_millisecond(epoch.as_millisecond() + span / MOMENTS * number).ok());
    let ends = record.entries.iter().filter(|entry| matches!(entry.event, Event::Outcome { .. }));
    spaced.chain(ends.map(|entry| entry.at)).chain([end]).filter(|at| *at >= epoch).collect()
}
