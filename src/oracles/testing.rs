//! Records for tests of rules.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, Resource, View};

use super::replay::{Ending, judge};
use crate::record::{Entry, Event, Header, Record, WriteEvent};

/// A record of writes, and the objects that they leave.
pub(super) struct Story {
    entries: Vec<Entry>,
    view: View,
}

impl Story {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), view: View::default() }
    }

    /// A component writes an object after this number of seconds; a negative one is the set-up.
    #[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
    pub(super) fn write(mut self, second: i64, by: &str, resource: &Resource, after: Value) -> Self {
        let write = self.event(by, resource, &after, Some(after.clone()));
        self.add(second, Event::Write(Box::new(write)));
        self
    }

    /// A component writes the status of an object.
    #[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
    pub(super) fn status(mut self, second: i64, by: &str, resource: &Resource, after: Value) -> Self {
        let mut write = self.event(by, resource, &after, Some(after.clone()));
        write.subresource = "status".to_owned();
        self.add(second, Event::Write(Box::new(write)));
        self
    }

    /// A component deletes an object.
    pub(super) fn delete(mut self, second: i64, by: &str, resource: &Resource, object: &Value) -> Self {
        let mut write = self.event(by, resource, object, None);
        write.verb = "delete".to_owned();
        self.add(second, Event::Write(Box::new(write)));
        self
    }

    /// A component evicts a pod, which is removed.
    pub(super) fn evict(mut self, second: i64, by: &str, pod: &Value) -> Self {
        let mut write = self.event(by, &PODS, pod, None);
        (write.verb, write.subresource) = ("create".to_owned(), "eviction".to_owned());
        self.add(second, Event::Write(Box::new(write)));
        self
    }

    /// The same write as the last one is rejected.
    pub(super) fn reject(mut self, second: i64, code: u16, message: &str) -> Self {
        let Some(Event::Write(last)) = self.entries.last().map(|entry| entry.event.clone()) else {
            return self;
        };
        let (verb, before) = ("update".to_owned(), last.after.clone());
        let write = WriteEvent { code, message: message.to_owned(), verb, before, after: None, ..*last };
        self.add(second, Event::Write(Box::new(write)));
        self
    }

    /// A program starts or ends in a pod.
    pub(super) fn process(mut self, second: i64, program: &str, pod: &str, started: bool) -> Self {
        let (program, pod) = (program.to_owned(), pod.to_owned());
        self.add(second, Event::Process { program, pod, started });
        self
    }

    /// A step of the scenario.
    pub(super) fn step(mut self, second: i64, text: &str) -> Self {
        self.add(second, Event::Step { text: text.to_owned() });
        self
    }

    fn event(&self, by: &str, resource: &Resource, object: &Value, after: Option<Value>) -> WriteEvent {
        let key = resource.key_of(object);
        let before = self.view.get_key(&key).cloned();
        WriteEvent {
            by: by.to_owned(),
            process: String::new(),
            verb: if before.is_some() { "update" } else { "create" }.to_owned(),
            kind: resource.kind.to_string(),
            key,
            subresource: String::new(),
            code: 200,
            message: String::new(),
            before,
            after: after.map(Object::new),
        }
    }

    fn add(&mut self, second: i64, event: Event) {
        if let Event::Write(write) = &event
            && let Some(change) = write.change()
        {
            self.view.apply(&change);
        }
        self.entries.push(Entry { at: Time::constant(second, 0), event });
    }

    pub(super) fn record(self) -> Record {
        Record::new(Header::default(), self.entries)
    }

    /// The findings of a rule, as `OBJECT: HOW`, until an hour after the last entry.
    pub(super) fn findings(self, rule: &str) -> Vec<String> {
        let record = self.record();
        let until = record.end() + SignedDuration::from_hours(1);
        let found = judge(&record, Ending { until, calm_from: None });
        let found = found.into_iter().filter(|finding| finding.rule == rule);
        found.map(|finding| format!("{}: {}", finding.object, finding.how)).collect()
    }
}
