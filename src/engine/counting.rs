//! The moments of a run from which expectations count writes and requests.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::text::short_duration;

use crate::plan::{Since, Step};
use crate::record::{ADMINISTRATOR, Entry, Event, Record, WriteEvent};

/// A moment of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Moment {
    /// The number of entries that the record had.
    entries: usize,
    /// The time.
    at: Time,
}

impl Moment {
    /// The moment now, of a run with this record.
    pub(in crate::engine) fn new(record: &Record, at: Time) -> Self {
        Self { entries: record.entries.len(), at }
    }
}

/// The moments of a run from which expectations count.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Counting {
    /// The first of the last actions.
    action: Option<Moment>,
    /// Whether the next action belongs to them.
    continues: bool,
    /// The last request of an update.
    update: Option<Moment>,
    /// The beginning of each step of the timeline so far.
    steps: Vec<Moment>,
}

impl Counting {
    /// Adds the beginning of a step of the timeline.
    pub(in crate::engine) fn begin_step(&mut self, moment: Moment) {
        self.steps.push(moment);
    }

    /// Remembers a step that has run, with the entries that it made: whether it acted, waited or requested an update.
    pub(in crate::engine) fn end_step(&mut self, step: &Step, began: Moment, record: &Record) {
        let made = record.entries.get(began.entries..).unwrap_or_default();
        let mut writes = made.iter().filter_map(administrators_write);
        match step {
            Step::Act(_) => self.add_action(began),
            Step::Run(_) if writes.clone().next().is_some() => self.add_action(began),
            Step::Expect(_) | Step::Advance(_) | Step::At(_) => self.continues = false,
            Step::Try(_) | Step::Run(_) | Step::Keep(_) | Step::KeepCluster(_) | Step::Retry(_) => {}
        }
        if writes.any(requests_update) {
            self.update = Some(began);
        }
    }

    fn add_action(&mut self, began: Moment) {
        if !self.continues {
            self.action = Some(began);
        }
        self.continues = true;
    }

    /// Forgets the entries, because the record lost them: everything from here on counts.
    pub(in crate::engine) fn clear(&mut self) {
        let moments = self.action.iter_mut().chain(&mut self.update).chain(&mut self.steps);
        moments.for_each(|moment| moment.entries = 0);
    }

    /// Returns what counts now.
    ///
    /// # Errors
    /// There was no such moment.
    pub(in crate::engine) fn counted(
        &self,
        since: Since,
        record: &Record,
        now: Time,
    ) -> Result<Counted, String> {
        let epoch = record.header.epoch;
        let start = Moment { entries: 0, at: epoch };
        let from = match since {
            Since::Start => start,
            Since::LastAction => self.action.unwrap_or(start),
            Since::LastUpdate => self
                .update
                .ok_or("no update was requested before this step: expected one for `last-update`")?,
            Since::Back(span) => Moment { entries: 0, at: after(now, -span).max(epoch) },
            Since::Step(number) => {
                let index = usize::try_from(number).unwrap_or(usize::MAX).checked_sub(1);
                let moment = index.and_then(|index| self.steps.get(index)).copied();
                moment.ok_or_else(|| format!("step {number} has not begun: expected an earlier step"))?
            }
        };
        Ok(Counted { since, from, passed: from.at.duration_since(epoch) })
    }
}

/// The part of a run that an expectation counts.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Counted {
    since: Since,
    from: Moment,
    /// The time from the start of the run up to it.
    passed: SignedDuration,
}

impl Counted {
    /// The whole run.
    #[cfg(test)]
    pub(in crate::engine) fn whole_run(record: &Record) -> Self {
        Counting::default().counted(Since::Start, record, record.end()).unwrap()
    }

    /// The entries that count, without those of the set-up.
    pub(in crate::engine) fn entries<'r>(&self, record: &'r Record) -> impl Iterator<Item = &'r Entry> {
        let Moment { entries, at } = self.from;
        let later = record.entries.get(entries..).unwrap_or_default();
        later.iter().filter(move |entry| !record.is_set_up(entry) && entry.at >= at)
    }

    /// Whether a request at this time counts.
    pub(in crate::engine) fn has(&self, at: Time) -> bool {
        at >= self.from.at
    }

    /// Adds to a failure from when it counted.
    pub(in crate::engine) fn explain(&self, why: &str) -> String {
        let (since, seconds) = (self.since, SignedDuration::from_secs(self.passed.as_secs()));
        if matches!(since, Since::Start) {
            return format!("{why} (counted since the start)");
        }
        format!("{why} (counted {since}, from {} on)", short_duration(seconds))
    }
}

/// Returns a write of the scenario's actions.
fn administrators_write(entry: &Entry) -> Option<&WriteEvent> {
    match &entry.event {
        Event::Write(write) if write.by == ADMINISTRATOR => Some(write),
        _ => None,
    }
}

/// Whether a write changed the requested update to another one.
fn requests_update(write: &WriteEvent) -> bool {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return false };
    let desired = |object: &windtunnel_core::Object| object["spec"]["desiredUpdate"].clone();
    let wanted = desired(after);
    write.key.is_kind(&CLUSTER_VERSIONS) && !wanted.is_null() && wanted != desired(before)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::Object;

    use super::*;
    use crate::plan::Action;
    use crate::record::Header;

    fn entry(second: i64, after: serde_json::Value) -> Entry {
        let write = WriteEvent {
            by: ADMINISTRATOR.to_owned(),
            process: String::new(),
            verb: "patch".to_owned(),
            kind: "ClusterVersion".to_owned(),
            key: CLUSTER_VERSIONS.key("", "version"),
            subresource: String::new(),
            code: 200,
            message: String::new(),
            before: Some(Object::new(json!({}))),
            after: Some(Object::new(after)),
        };
        Entry { at: Time::constant(second, 0), event: Event::Write(Box::new(write)) }
    }

    /// Runs a step that makes these entries.
    fn run(counting: &mut Counting, record: &mut Record, step: &Step, made: Vec<Entry>) {
        let at = made.first().map_or(record.end(), |entry| entry.at);
        let began = Moment::new(record, at);
        counting.begin_step(began);
        record.entries.extend(made);
        counting.end_step(step, began, record);
    }

    fn count(counting: &Counting, record: &Record, since: Since) -> Result<usize, String> {
        Ok(counting.counted(since, record, record.end())?.entries(record).count())
    }

    #[test]
    fn each_moment_counts_what_follows() {
        let (mut counting, mut record) = (Counting::default(), Record::new(Header::default(), Vec::new()));
        let act = Step::Act(Action::ClearUpdate);
        let update = || entry(10, json!({ "spec": { "desiredUpdate": { "version": "4.14.8" } } }));
        run(&mut counting, &mut record, &act, vec![entry(1, json!({}))]);
        assert!(count(&counting, &record, Since::LastUpdate).is_err());
        run(
            &mut counting,
            &mut record,
            &Step::Advance(SignedDuration::from_secs(9)),
            vec![entry(2, json!({}))],
        );
        run(&mut counting, &mut record, &act, vec![update(), entry(11, json!({}))]);
        run(&mut counting, &mut record, &act, vec![entry(12, json!({}))]);
        run(
            &mut counting,
            &mut record,
            &Step::Advance(SignedDuration::from_secs(9)),
            vec![entry(20, json!({}))],
        );
        let five = Since::Back(SignedDuration::from_secs(9));
        for (since, expected) in [
            (Since::Start, 6),
            (Since::LastAction, 4),
            (Since::LastUpdate, 4),
            (five, 3),
            (Since::Step(2), 5),
            (Since::Step(4), 2),
        ] {
            assert_eq!(count(&counting, &record, since), Ok(expected), "{since}");
        }
        assert!(count(&counting, &record, Since::Step(6)).is_err());
        let counted = counting.counted(Since::LastUpdate, &record, record.end()).unwrap();
        assert_eq!(counted.explain("no write"), "no write (counted since the last update, from 10s on)");
    }
}
