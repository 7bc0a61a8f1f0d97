//! Gives the entries of a record to the rules.

use jiff::SignedDuration;
use windtunnel_core::View;
use windtunnel_core::alert::{Alert, AlertState};
use windtunnel_core::clock::Time;

use super::calm::Calm;
use super::changes::changed_path;
use super::normal::normalise;
use super::rule::{ObjectFinding, ProcessEvent, Rule, RuleFinding, Scene};
use super::{
    budget, conditions, convergence, deletions, drain, garbage, generations, history, insights, invariants,
    leader, max_unavailable, operators, ownership, processes, rights, settled, version,
};
use crate::engine::sweep::is_routine;
use crate::record::{Entry, Event, Record, WriteEvent};

/// How long nothing must have changed until a cluster is quiet.
const QUIET: SignedDuration = SignedDuration::from_mins(5);

/// How the record of a cluster ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The end of the time that the record is about; there may be no entry at the end.
    pub until: Time,
    /// The moment from which on all faults have ended, if that is known. Otherwise it is found in the record.
    pub calm_from: Option<Time>,
}

impl Ending {
    /// The ending of a record without further knowledge.
    pub fn of(record: &Record) -> Self {
        Self { until: record.end(), calm_from: None }
    }
}

fn rules(record: &Record, is_watched: bool) -> Vec<Box<dyn Rule>> {
    let mut rules = invariants::rules(record.header.epoch);
    rules.extend([
        Box::new(rights::Rights) as Box<dyn Rule>,
        Box::new(history::History),
        Box::new(conditions::Conditions::new(is_watched)),
        Box::new(generations::Generations),
        Box::new(max_unavailable::MaxUnavailable::default()),
        Box::new(budget::Budget),
        Box::new(drain::Drain),
        Box::new(ownership::Ownership::default()),
        Box::new(garbage::Garbage::default()),
        Box::new(deletions::Deletions::default()),
        Box::new(processes::Processes::default()),
        Box::new(leader::Handovers::default()),
        Box::new(operators::Operators::default()),
        Box::new(version::Combinations),
        Box::new(settled::Settled::default()),
        Box::new(insights::Insights),
    ]);
    rules
}

/// Returns the findings of all rules, in the order of time. A rule that the same object breaks again in the same way is
/// reported once. The set-up is not judged.
pub fn judge(record: &Record, ending: Ending) -> Vec<RuleFinding> {
    let is_watched = is_watched(record);
    let mut replay = Replay {
        record,
        rules: rules(record, is_watched),
        view: View::default(),
        calm: Calm::new(ending.calm_from),
        alerts: Vec::new(),
        changed_at: record.header.epoch,
        was_judged: false,
        findings: Vec::new(),
    };
    for (index, entry) in record.entries.iter().enumerate() {
        replay.look_at_quiet(index, entry.at);
        replay.look_at(index, entry);
    }
    replay.look_at_quiet(record.entries.len(), ending.until);
    let mut findings = replay.findings;
    if !is_watched {
        findings.extend(leader::stray_writes(record));
        findings.sort_by_key(|finding| finding.entry);
    }
    findings
}

/// Returns whether the record is about a cluster that was only watched: the observed changes are no requests, and some may be
/// missing.
fn is_watched(record: &Record) -> bool {
    let is_request = |entry: &Entry| match &entry.event {
        Event::Write(write) => !write.subresource.is_empty() || write.code >= 400,
        Event::Step { .. } => true,
        _ => false,
    };
    !record.entries.iter().any(is_request)
}

/// A walk through a record.
struct Replay<'r> {
    record: &'r Record,
    rules: Vec<Box<dyn Rule>>,
    view: View,
    calm: Calm,
    alerts: Vec<Alert>,
    /// The moment of the last change.
    changed_at: Time,
    /// Whether the time since then was judged.
    was_judged: bool,
    findings: Vec<RuleFinding>,
}

impl Replay<'_> {
    fn look_at(&mut self, index: usize, entry: &Entry) {
        self.calm.note(entry);
        match &entry.event {
            Event::Write(write) => self.look_at_write(index, entry.at, write),
            Event::Alert(alert) => self.note_alert(alert),
            Event::Step { .. } | Event::Fault { .. } | Event::Kubernetes { .. } => self.change(entry.at),
            Event::Process { program, pod, started } => {
                self.look_at_process(index, entry.at, &ProcessEvent { program, pod, started: *started });
            }
            Event::Outcome { .. } | Event::Command { .. } => {}
        }
    }

    fn look_at_write(&mut self, index: usize, at: Time, write: &WriteEvent) {
        let scene = Scene { at, view: &self.view, calm: &self.calm, alerts: &self.alerts };
        let mut found: Vec<(String, ObjectFinding)> = self
            .rules
            .iter_mut()
            .filter_map(|rule| found_by(rule, |rule| rule.before(&scene, write)))
            .collect();
        if let Some(change) = write.change() {
            self.view.apply(&change);
            let scene = Scene { at, view: &self.view, calm: &self.calm, alerts: &self.alerts };
            found.extend(
                self.rules.iter_mut().filter_map(|rule| found_by(rule, |rule| rule.after(&scene, write))),
            );
        }
        for (rule, finding) in found {
            self.report(rule, index, at, finding);
        }
        if !is_routine(write) && write.kind != "Lease" && (write.code >= 400 || changed_path(write).is_some())
        {
            self.change(at);
        }
    }

    fn look_at_process(&mut self, index: usize, at: Time, event: &ProcessEvent<'_>) {
        let scene = Scene { at, view: &self.view, calm: &self.calm, alerts: &self.alerts };
        let found: Vec<(String, ObjectFinding)> = self
            .rules
            .iter_mut()
            .filter_map(|rule| found_by(rule, |rule| rule.process(&scene, event)))
            .collect();
        for (rule, finding) in found {
            self.report(rule, index, at, finding);
        }
    }

    fn note_alert(&mut self, alert: &Alert) {
        self.alerts.retain(|known| known.labels != alert.labels);
        if alert.state != AlertState::Inactive {
            self.alerts.push(alert.clone());
        }
    }

    fn change(&mut self, at: Time) {
        self.changed_at = at;
        self.was_judged = false;
    }

    /// Judges the cluster before the entry of this index, if nothing has changed for long enough.
    fn look_at_quiet(&mut self, index: usize, until: Time) {
        let from = self.changed_at.max(self.record.header.epoch);
        let Some(at) = self.calm.calm_after(from + QUIET) else { return };
        if self.was_judged || until < at {
            return;
        }
        // Nothing changes until the next call of `change`, so the cluster is looked at once.
        self.was_judged = true;
        if !convergence::has_converged(&self.view) {
            return;
        }
        let scene = Scene { at, view: &self.view, calm: &self.calm, alerts: &self.alerts };
        let found: Vec<(String, ObjectFinding)> = self
            .rules
            .iter_mut()
            .flat_map(|rule| {
                let id = rule.id();
                rule.quiet(&scene).into_iter().map(move |finding| (id.clone(), finding))
            })
            .collect();
        for (rule, finding) in found {
            self.report(rule, index.saturating_sub(1), at, finding);
        }
    }

    fn report(&mut self, rule: String, entry: usize, at: Time, ObjectFinding { object, how }: ObjectFinding) {
        let text = normalise(&how);
        let is_known = |known: &RuleFinding| {
            known.rule == rule && known.object == object && normalise(&known.how) == text
        };
        if at >= self.record.header.epoch && !self.findings.iter().any(is_known) {
            self.findings.push(RuleFinding { rule, entry, at, object, how });
        }
    }
}

/// Returns what a rule finds, with its id.
fn found_by(
    rule: &mut Box<dyn Rule>,
    look: impl FnOnce(&mut dyn Rule) -> Option<ObjectFinding>,
) -> Option<(String, ObjectFinding)> {
    let finding = look(rule.as_mut())?;
    Some((rule.id(), finding))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;
    use crate::oracles::testing::Story;

    #[test]
    fn a_record_without_requests_is_one_of_a_watched_cluster() {
        let map = || json!({ "metadata": { "namespace": "n", "name": "m" } });
        assert!(is_watched(&Story::new().write(1, "kubectl", &CONFIG_MAPS, map()).record()));
        assert!(!is_watched(&Story::new().status(1, "kubectl", &CONFIG_MAPS, map()).record()));
        assert!(!is_watched(&Story::new().step(1, "advance 1m").record()));
    }
}
