//! A fault at a place of a plan's timeline, and its step in YAML.

use jiff::SignedDuration;
use windtunnel_core::requests::faults::{FaultEffect, ProgramFault, RequestFilter, WatchFault};
use windtunnel_core::text::short_duration;
use windtunnel_core::yaml::scalar;

use crate::plan::{Action, FaultEvent, InjectedFault, Plan, PlannedStep, Step};

/// A fault at a place of a plan's timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFault {
    /// The index of the step before which it is injected.
    pub step: usize,
    pub(super) fault: InjectedFault,
    pub(super) event: Option<FaultEvent>,
    pub(super) after: SignedDuration,
    pub(super) lasts: Option<SignedDuration>,
}

impl PlacedFault {
    /// The step that injects it, as one line of YAML without the dash.
    pub fn yaml(&self) -> String {
        let mut keys = match &self.fault {
            InjectedFault::Process(name, fault) => process_keys(name, fault),
            InjectedFault::Requests(fault) => {
                let events = match fault.effect {
                    FaultEffect::Watch(WatchFault::Behind(events)) => Some(format!("events: {events}")),
                    _ => None,
                };
                let keys =
                    [format!("api: {}", filter(&fault.requests)), format!("is: {}", fault.effect.name())];
                keys.into_iter().chain(events).collect()
            }
            other => vec![other.to_string()],
        };
        if let Some(FaultEvent { kind, name, nth }) = &self.event {
            let name = name.as_ref().map(|name| format!(", name: {}", scalar(name))).unwrap_or_default();
            keys.push(format!("at-event: {{kind: {}{name}, nth: {nth}}}", scalar(kind)));
        }
        if !self.after.is_zero() {
            keys.push(format!("after: {}", short_duration(self.after)));
        }
        keys.extend(self.lasts.map(|lasts| format!("for: {}", short_duration(lasts))));
        format!("fault: {{{}}}", keys.join(", "))
    }

    /// The plan with these faults.
    pub(super) fn inserted_in(plan: &Plan, faults: &[Self]) -> Plan {
        let mut plan = plan.clone();
        let mut sorted: Vec<&Self> = faults.iter().collect();
        sorted.sort_by_key(|fault| fault.step);
        for placed in sorted.into_iter().rev() {
            let Self { step, fault, event, after, lasts } = placed.clone();
            let action = Action::Fault { fault, event, after, lasts };
            let (line, column) = plan.timeline.get(step).map_or((0, 0), |step| (step.line, step.column));
            let planned = PlannedStep { line, column, text: placed.yaml(), step: Step::Act(action) };
            plan.timeline.insert(step.min(plan.timeline.len()), planned);
        }
        plan
    }
}

fn process_keys(name: &str, fault: &ProgramFault) -> Vec<String> {
    let mut keys = vec![format!("process: {}", scalar(name)), format!("is: {}", fault.name())];
    if let ProgramFault::Crash { writes, hits, .. } = fault {
        keys.push(format!("write: {}", filter(writes)));
        keys.push(format!("nth: {}", hits.first));
    }
    if let ProgramFault::SkewedClock(ahead) = fault {
        keys.push(format!("by: {}", short_duration(ahead.abs())));
    }
    if let ProgramFault::Slow(delay) = fault {
        keys.push(format!("by: {}", short_duration(*delay)));
    }
    keys
}

fn filter(requests: &RequestFilter) -> String {
    let RequestFilter { verb, kind, name, subresource, by } = requests;
    let keys = [("verb", verb), ("kind", kind), ("name", name), ("subresource", subresource), ("by", by)];
    let keys = keys.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    let keys: Vec<String> = keys.map(|(key, value)| format!("{key}: {}", scalar(value))).collect();
    format!("{{{}}}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use windtunnel_core::requests::faults::Hits;

    use super::*;

    #[test]
    fn a_fault_is_a_step_of_a_scenario() {
        let writes = RequestFilter {
            verb: Some("create".to_owned()),
            name: Some("a: b".to_owned()),
            ..RequestFilter::default()
        };
        let crash = ProgramFault::Crash { writes, after: true, hits: Hits::new(2, Some(1)) };
        let placed = PlacedFault {
            step: 0,
            fault: InjectedFault::Process("copier".to_owned(), crash),
            event: Some(FaultEvent { kind: "Pod".to_owned(), name: Some("p".to_owned()), nth: 3 }),
            after: SignedDuration::from_millis(1999),
            lasts: None,
        };
        assert_eq!(
            placed.yaml(),
            "fault: {process: copier, is: crash-after-write, write: {verb: create, name: \"a: b\"}, nth: 2, \
             at-event: {kind: Pod, name: p, nth: 3}, after: 1999ms}"
        );
    }
}
