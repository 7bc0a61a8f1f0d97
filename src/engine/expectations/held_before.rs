//! Recognizes expectations that have held since before the last actions: no action made them true, so they
//! would pass whatever the actions did.

use std::collections::BTreeMap;

use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, View};
use windtunnel_update_status::assessment::node::phase::Phase;
use windtunnel_update_status::status::nodes;

use super::{check_in, monitoring, recorded, writes};
use crate::engine::runtime::Simulation;
use crate::plan::{AlertMatch, ExpectedState, LogMatch};
use crate::record::{Entry, Event, Record};

/// Returns whether what holds now has held since before the last actions, at each moment. False for commands,
/// metrics, texts of the status and whatever cannot have been true before.
pub(in crate::engine) fn held_before(simulation: &mut Simulation, what: &ExpectedState) -> bool {
    let Some(since) =
        simulation.steps.last_actions.since().filter(|since| *since < simulation.record.entries.len())
    else {
        return false;
    };
    let Simulation { view, record, .. } = &*simulation;
    match what {
        ExpectedState::Object(..)
        | ExpectedState::Absent(_)
        | ExpectedState::Insight(..)
        | ExpectedState::NoInsight(..) => {
            held_in_views(view, &record.entries[since..], |view| check_in(view, what, None).is_ok())
        }
        ExpectedState::Phase { node, phase } => {
            held_in_views(view, &record.entries[since..], |view| is_in_phase(view, node, *phase))
        }
        ExpectedState::Alert(wanted) => held_for_alerts(record, since, wanted, true),
        ExpectedState::NoAlert(wanted) => held_for_alerts(record, since, wanted, false),
        ExpectedState::Writes(wanted, from) => {
            let (wanted, Ok(counted)) = (recorded(simulation, wanted), simulation.counted(*from)) else {
                return false;
            };
            in_first_entries(simulation, since, |record| writes::in_order(record, &counted, &wanted).is_ok())
        }
        ExpectedState::Statuses { subject, condition, statuses } => {
            let holds = |record: &Record| writes::statuses(record, subject, condition, statuses).is_ok();
            in_first_entries(simulation, since, holds)
        }
        ExpectedState::Log(wanted) => was_printed(simulation, simulation.record.entries[since].at, wanted),
        _ => false,
    }
}

/// Returns whether a check holds for the view before each of these entries, going back from `latest`.
fn held_in_views(latest: &View, entries: &[Entry], holds: impl Fn(&View) -> bool) -> bool {
    let mut view = latest.clone();
    entries.iter().rev().all(|entry| {
        let Event::Write(write) = &entry.event else { return true };
        let Some(change) = write.change() else { return true };
        view.apply(&undo(change));
        holds(&view)
    })
}

/// Returns the change that takes a change back.
fn undo(change: Change) -> Change {
    let Change { key, object, old, .. } = change;
    match old {
        Some(old) => Change { key, kind: ChangeKind::Modified, object: old, old: Some(object) },
        None => Change { key, kind: ChangeKind::Deleted, old: Some(object.clone()), object },
    }
}

fn is_in_phase(view: &View, node: &str, wanted: Phase) -> bool {
    let node = view.get(&NODES, "", node);
    let insight = node.and_then(|node| nodes::assess_in_view(node, view));
    insight.is_some_and(|insight| insight.state.phase == wanted)
}

/// Returns whether there was (or was not) a matching alert at each moment since the entry `since`.
fn held_for_alerts(record: &Record, since: usize, wanted: &AlertMatch, is_wanted: bool) -> bool {
    let mut active: BTreeMap<&BTreeMap<String, String>, &Alert> = BTreeMap::new();
    let holds = |active: &BTreeMap<_, &Alert>| {
        active.values().any(|alert| monitoring::alert_matches(alert, wanted)) == is_wanted
    };
    for (number, entry) in record.entries.iter().enumerate() {
        if number == since && !holds(&active) {
            return false;
        }
        let Event::Alert(alert) = &entry.event else { continue };
        match alert.state {
            AlertState::Inactive => drop(active.remove(&alert.labels)),
            _ => drop(active.insert(&alert.labels, alert)),
        }
        if number >= since && !holds(&active) {
            return false;
        }
    }
    true
}

/// Returns whether a check holds for the record as it was with `count` entries.
fn in_first_entries(simulation: &mut Simulation, count: usize, holds: impl Fn(&Record) -> bool) -> bool {
    let record = &mut simulation.record;
    let later = record.entries.split_off(count);
    let held = holds(record);
    record.entries.extend(later);
    held
}

/// Returns whether a pod printed a matching line before `moment`.
fn was_printed(simulation: &Simulation, moment: Time, wanted: &LogMatch) -> bool {
    simulation.observers.exports.with_logs(|logs| {
        logs.all(wanted.previous).any(|(pod, container, lines)| {
            super::logs::is_meant(wanted, pod, container)
                && lines.iter().any(|line| line.at < moment && wanted.line.fits(&line.text))
        })
    })
}
