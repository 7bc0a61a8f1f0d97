//! Cases that are a little smaller or simpler than another.

use serde_json::Value;

use super::changed::push;
use super::steps::{object_of, simpler_steps, simpler_waits};
use super::{environment, names};
use crate::explore::case::{Case, Moment};

/// The parts of a case that may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    /// Whether the timeline and the cluster are those of a user's scenario that shall become smaller itself.
    pub(super) has_own_steps: bool,
    /// Whether faults must end, because the rule is about the time after them.
    pub(super) needs_ends: bool,
}

/// Simpler gaps between two steps, in seconds.
const GAPS: [u64; 4] = [0, 60, 600, 3600];

/// Returns cases that are smaller than this one, those first that are much smaller.
pub(super) fn smaller(case: &Case, scope: Scope) -> Vec<Case> {
    let mut found = Vec::new();
    fewer_moments(case, &mut found);
    if scope.has_own_steps {
        fewer_own_steps(case, &mut found);
    }
    if scope.has_own_steps || case.own_steps.is_empty() {
        environment::smaller(case, &mut found);
    }
    earlier_moments(case, &mut found);
    simpler_moments(case, scope, &mut found);
    if scope.has_own_steps {
        simpler_own_steps(case, scope, &mut found);
    }
    if case.own_steps.is_empty() {
        names::simpler(case, &mut found);
    }
    found.retain(|smaller| smaller != case);
    found
}

/// Without halves, quarters and single steps, and without pairs of steps that concern the same object.
fn fewer_moments(case: &Case, found: &mut Vec<Case>) {
    for (start, end) in chunks(case.moments.len()) {
        push(case, found, |smaller| drop(smaller.moments.drain(start..end)));
    }
    for (first, second) in pairs(&case.moments) {
        push(case, found, |smaller| {
            smaller.moments.remove(second);
            smaller.moments.remove(first);
        });
    }
}

/// The timeline of a user without halves, quarters and single steps.
fn fewer_own_steps(case: &Case, found: &mut Vec<Case>) {
    for (start, end) in chunks(case.own_steps.len()) {
        // A timeline has at least one step.
        if end - start < case.own_steps.len() {
            push(case, found, |smaller| drop(smaller.own_steps.drain(start..end)));
        }
    }
}

/// The ranges of a list to leave out, the longest first.
fn chunks(count: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut size = count;
    while size > 0 {
        found.extend((0..count).step_by(size).map(|start| (start, (start + size).min(count))));
        size /= 2;
    }
    found
}

/// The pairs of steps that concern the same object, such as a pause and its end.
fn pairs(moments: &[Moment]) -> Vec<(usize, usize)> {
    let objects: Vec<Option<String>> = moments.iter().map(|moment| object_of(&moment.step)).collect();
    let mut found = Vec::new();
    for (first, object) in objects.iter().enumerate().filter(|(_, object)| object.is_some()) {
        let second = objects.iter().skip(first + 1).position(|other| other == object);
        found.extend(second.map(|distance| (first, first + 1 + distance)));
    }
    found
}

/// With steps at earlier and rounder moments: all at once, each with all later ones, and each alone.
fn earlier_moments(case: &Case, found: &mut Vec<Case>) {
    push(case, found, |smaller| smaller.moments.iter_mut().for_each(|moment| moment.at = 0));
    for index in 0..case.moments.len() {
        let previous = previous(case, index);
        let gap = case.moments[index].at.saturating_sub(previous);
        for shorter in GAPS.into_iter().filter(|shorter| *shorter < gap) {
            push(case, found, |smaller| {
                for moment in &mut smaller.moments[index..] {
                    moment.at -= gap - shorter;
                }
            });
        }
        for at in simpler_times(case.moments[index].at, previous) {
            push(case, found, |smaller| smaller.moments[index].at = at);
        }
    }
    // Requests come before faults of the same moment.
    push(case, found, |smaller| {
        smaller.moments.sort_by_key(|moment| (moment.at, moment.fault().is_some()));
    });
}

/// The moment of the step before this one.
fn previous(case: &Case, index: usize) -> u64 {
    index.checked_sub(1).map_or(0, |before| case.moments[before].at)
}

/// Earlier and rounder times that keep the order of steps.
fn simpler_times(at: u64, previous: u64) -> Vec<u64> {
    let rounded = [3600, 600, 60].map(|unit| at / unit * unit);
    let mut times: Vec<u64> = rounded.into_iter().filter(|time| (previous..at).contains(time)).collect();
    times.dedup();
    times
}

/// With simpler steps at the same moments.
fn simpler_moments(case: &Case, scope: Scope, found: &mut Vec<Case>) {
    for (index, moment) in case.moments.iter().enumerate() {
        for simpler in simpler_steps(&moment.step, scope.needs_ends) {
            push(case, found, |smaller| smaller.moments[index].step = simpler);
        }
    }
}

/// With simpler steps in the timeline of a user, and less time between them.
fn simpler_own_steps(case: &Case, scope: Scope, found: &mut Vec<Case>) {
    for (index, step) in case.own_steps.iter().enumerate() {
        let simpler: Vec<Value> =
            simpler_waits(step).into_iter().chain(simpler_steps(step, scope.needs_ends)).collect();
        for simpler in simpler {
            push(case, found, |smaller| smaller.own_steps[index] = simpler);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const INVENTED: Scope = Scope { has_own_steps: false, needs_ends: true };

    fn case(moments: Vec<Moment>) -> Case {
        let environment = json!({ "cluster": { "version": "4.18.1" } });
        Case { environment: environment.as_object().cloned().unwrap(), moments, own_steps: Vec::new() }
    }

    #[test]
    fn a_pause_and_its_end_leave_together() {
        let paused = |at, paused: bool| {
            let patch =
                json!({ "object": "MachineConfigPool/worker", "merge": { "spec": { "paused": paused } } });
            Moment::new(at, json!({ "patch": patch }))
        };
        let clear = Moment::new(50, json!("clear-update"));
        let found = smaller(&case(vec![paused(0, true), clear.clone(), paused(90, false)]), INVENTED);
        assert!(found.contains(&case(vec![clear])));
    }

    #[test]
    fn later_steps_move_along_and_faults_come_last() {
        let fault = |at| Moment::new(at, json!({ "fault": { "node": "worker-0", "is": "not-ready" } }));
        let clear = |at| Moment::new(at, json!("clear-update"));
        let found = smaller(&case(vec![fault(1000), clear(1234)]), INVENTED);
        for moments in [
            vec![fault(0), clear(0)],
            vec![fault(60), clear(294)],
            vec![fault(1000), clear(1060)],
            vec![fault(1000), clear(1200)],
        ] {
            assert!(found.contains(&case(moments.clone())), "{moments:?}");
        }
        assert!(smaller(&case(vec![fault(0), clear(0)]), INVENTED).contains(&case(vec![clear(0), fault(0)])));
    }

    #[test]
    fn a_scenario_of_a_user_changes_only_if_it_shall_become_smaller() {
        let own =
            Case { own_steps: vec![json!({ "advance": "3h" }), json!("clear-update")], ..case(Vec::new()) };
        assert_eq!(smaller(&own, INVENTED), []);
        let found = smaller(&own, Scope { has_own_steps: true, needs_ends: true });
        let with = |steps: Vec<Value>| Case { own_steps: steps, ..own.clone() };
        assert!(found.contains(&with(vec![json!("clear-update")])));
        assert!(found.contains(&with(vec![json!({ "advance": "10m" }), json!("clear-update")])));
        assert!(found.iter().all(|case| !case.own_steps.is_empty()));
    }
}
