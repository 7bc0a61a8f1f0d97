//! The faults of a record: which are in effect at a moment.
//!
//! A record has faults as lines of its timeline, and those of operators, nodes, pods and pools as annotations too. An observed
//! cluster has none.

use jiff::SignedDuration;
use windtunnel_controllers::faults::{ANNOTATION, NONE};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::requests::faults::ProgramFault;

use crate::record::{Entry, Event, WriteEvent};

/// How long the consequences of a fault may last after its end.
const AFTERMATH: SignedDuration = SignedDuration::from_hours(1);

/// The end of the line at which a fault ends, after its target.
const RECOVERS: &str = " recovers";

/// The beginnings of lines about faults.
const TARGETS: [&str; 9] = [
    "operator ",
    "node ",
    "pod ",
    "pool ",
    "release ",
    "the API server ",
    "the configuration of pool ",
    "a webhook for ",
    "definition ",
];

/// The faults up to a moment.
#[derive(Debug, Clone)]
pub(super) struct Calm {
    /// The lines of faults, with their ends if they have ended.
    faults: Vec<(String, Option<Time>)>,
    /// The moment from which on all faults have ended, if that is known.
    calm_from: Option<Time>,
}

impl Calm {
    /// Starts without faults. All have ended at `calm_from`, if that is known.
    pub(super) fn new(calm_from: Option<Time>) -> Self {
        Self { faults: Vec::new(), calm_from }
    }

    /// Notes the beginning or the end of a fault.
    pub(super) fn note(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Step { text } | Event::Fault { text } => {
                if let Some(target) = text.strip_suffix(RECOVERS) {
                    self.end(target, entry.at);
                } else if matches!(entry.event, Event::Fault { .. }) || is_fault(text) {
                    self.begin(text, entry.at);
                }
            }
            Event::Write(write) => self.note_annotation(write, entry.at),
            _ => {}
        }
    }

    fn note_annotation(&mut self, write: &WriteEvent, at: Time) {
        let Some(object) = &write.after else { return };
        let fault = |object: &windtunnel_core::Object| {
            object.annotation(ANNOTATION).filter(|fault| *fault != NONE).map(str::to_owned)
        };
        let (before, now) = (write.before.as_ref().and_then(fault), fault(object));
        if before == now {
            return;
        }
        let target = format!("annotated {} {}", write.kind, write.key.name);
        self.end(&target, at);
        if let Some(now) = now {
            self.faults.push((format!("{target} is {now}"), None));
        }
    }

    fn begin(&mut self, text: &str, at: Time) {
        // A killed component starts again at once.
        let is_moment = text.ends_with(" is killed") || text.contains(" crashes ");
        self.faults.push((text.to_owned(), is_moment.then_some(at)));
    }

    fn end(&mut self, target: &str, at: Time) {
        let is_api = target.starts_with("the API server");
        let pool = target.strip_prefix("pool ").map(|pool| format!("the configuration of pool {pool} "));
        for (text, end) in self.faults.iter_mut().filter(|(_, end)| end.is_none()) {
            let is_target = text.strip_prefix(target).is_some_and(|rest| rest.starts_with(' '));
            let is_flip = pool.as_ref().is_some_and(|pool| text.starts_with(pool));
            if is_target || is_flip || is_api && text.starts_with("the API server") {
                *end = Some(at);
            }
        }
    }

    /// Returns the faults that are in effect or had consequences a short time ago.
    pub(super) fn faults(&self, at: Time) -> impl Iterator<Item = &str> {
        let is_near = move |end: &Option<Time>| end.is_none_or(|end| at < after(end, AFTERMATH));
        let is_over = self.calm_from.is_some_and(|from| after(from, AFTERMATH) <= at);
        self.faults.iter().filter(move |(_, end)| !is_over && is_near(end)).map(|(text, _)| text.as_str())
    }

    /// Returns whether no fault is near.
    pub(super) fn is_calm(&self, at: Time) -> bool {
        self.faults(at).next().is_none()
    }

    /// Returns the first moment from `at` on at which no fault is near; `None` if that is unknown.
    pub(super) fn calm_after(&self, at: Time) -> Option<Time> {
        let mut ends = self.faults.iter().map(|(_, end)| end.map(|end| after(end, AFTERMATH)));
        let seen = ends.try_fold(at, |latest, end| Some(latest.max(end?)));
        let known = self.calm_from.map(|from| after(from, AFTERMATH).max(at));
        match (seen, known) {
            (Some(seen), Some(known)) => Some(seen.min(known)),
            (seen, known) => seen.or(known),
        }
    }

    /// Returns whether a clock is wrong.
    pub(super) fn has_wrong_clock(&self, at: Time) -> bool {
        self.faults(at).any(|fault| fault.contains("clock-"))
    }

    /// Returns whether a component may not know the cluster at this moment: a fault concerns it, the API server, its watches
    /// or a clock.
    pub(super) fn may_be_outdated(&self, component: &str, at: Time) -> bool {
        let program = component.split('/').next().unwrap_or_default();
        self.faults(at).any(|fault| {
            fault.contains(program)
                || fault.contains("API server")
                || fault.contains("watch")
                || fault.contains("clock")
        })
    }
}

/// Whether the line of a step is about the beginning of a fault.
fn is_fault(text: &str) -> bool {
    let is_of_program = || {
        text.split_once(" is ")
            .is_some_and(|(_, fault)| ProgramFault::NAMES.iter().any(|name| fault.starts_with(name)))
    };
    TARGETS.iter().any(|target| text.starts_with(target)) || is_of_program()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calm(lines: &[(i64, &str)]) -> Calm {
        let mut calm = Calm::new(None);
        for (second, text) in lines {
            let event = Event::Step { text: (*text).to_owned() };
            calm.note(&Entry { at: Time::constant(*second, 0), event });
        }
        calm
    }

    #[test]
    fn a_fault_is_near_until_an_hour_after_its_end() {
        let lines = [(10, "node worker-0 is not-ready for 5m"), (310, "node worker-0 recovers")];
        let at = |second| calm(&lines).is_calm(Time::constant(second, 0));
        assert_eq!([at(3_000), at(3_910)], [false, true]);
        let moment = |second| Time::constant(second, 0);
        assert_eq!(calm(&lines).calm_after(moment(400)), Some(moment(3_910)));
        assert_eq!(calm(&lines).calm_after(moment(4_000)), Some(moment(4_000)));
        assert_eq!(calm(&lines[..1]).calm_after(moment(400)), None);
        assert!(!calm(&lines[..1]).is_calm(Time::constant(99_999, 0)), "it has not ended");
        assert!(calm(&[(1, "update to 4.18.3"), (2, "advance 1h")]).is_calm(Time::constant(3, 0)));
    }

    #[test]
    fn the_end_of_a_fault_names_its_target() {
        for (fault, end) in [
            ("the API server answers conflict to updates", "the API server's answer to updates recovers"),
            ("the configuration of pool worker flips 2 times", "pool worker recovers"),
            ("cluster-version-operator is watch-stale for 2m", "cluster-version-operator recovers"),
        ] {
            assert!(!calm(&[(1, fault)]).is_calm(Time::constant(9_999, 0)), "{fault}");
            assert!(calm(&[(1, fault), (2, end)]).is_calm(Time::constant(9_999, 0)), "{fault}");
        }
        assert!(
            !calm(&[(1, "node worker-1 is not-ready"), (2, "node worker recovers")])
                .is_calm(Time::constant(9_999, 0))
        );
    }

    #[test]
    fn a_component_may_be_outdated_if_a_fault_concerns_it() {
        let calm = calm(&[(1, "machine-config-controller/node is watch-stale for 2m")]);
        assert!(calm.may_be_outdated("machine-config-controller/drain", Time::constant(2, 0)));
        let other = self::calm(&[(1, "operator dns is degraded")]);
        assert!(!other.may_be_outdated("machine-config-controller/node", Time::constant(2, 0)));
    }
}
