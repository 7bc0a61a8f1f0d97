//! Removes the values from a record.
//!
//! A record has the whole state of an object before and after each write, most of it unchanged. So only the changes of a
//! known state are searched.

use windtunnel_core::resources::SECRETS;
use windtunnel_core::{ByKey, Object, patch};

use super::{Known, Secrets, redact_secret};
use crate::record::{Event, Record, WriteEvent};

impl Secrets {
    /// Returns the values of the Secrets in a record.
    pub fn of_record(record: &Record) -> Self {
        let secrets = Self::default();
        secrets.learn_record(record);
        secrets
    }

    /// Removes the values from a record, also those that are only in its own Secrets.
    pub fn hide_in(&self, record: &mut Record) {
        if self.are_shown {
            return;
        }
        self.learn_record(record);
        let known = self.known();
        let mut hiding = Hiding { known: &known, states: ByKey::default(), memory: Vec::new() };
        known.hide_in_text(&mut record.header.scenario);
        for entry in &mut record.entries {
            hiding.hide_in_event(&mut entry.event);
        }
        for line in record.logs.iter_mut().flat_map(|log| &mut log.lines) {
            known.hide_in_text(&mut line.text);
        }
    }

    fn learn_record(&self, record: &Record) {
        for entry in &record.entries {
            if let Event::Write(write) = &entry.event
                && write.key.is_kind(&SECRETS)
            {
                [&write.before, &write.after]
                    .into_iter()
                    .flatten()
                    .for_each(|secret| self.learn_secret(secret));
            }
        }
    }

    /// Returns an object without the values; a Secret has none at all.
    pub fn hidden_object(&self, object: &Object) -> Object {
        if self.are_shown {
            return object.clone();
        }
        self.known().hidden_object(object, SECRETS.is_kind_of(object), &mut Vec::new())
    }
}

impl Known {
    fn hidden_object(&self, object: &Object, is_secret: bool, memory: &mut Vec<u8>) -> Object {
        if !is_secret && (self.index.is_empty() || !self.is_in_value(object, memory)) {
            return object.clone();
        }
        let mut value = object.to_value();
        if is_secret {
            redact_secret(&mut value);
        }
        self.hide_in_value(&mut value);
        Object::new(value)
    }
}

/// The progress of hiding values in a record.
struct Hiding<'k> {
    known: &'k Known,
    /// The last state of each object.
    states: ByKey<State>,
    memory: Vec<u8>,
}

struct State {
    original: Object,
    hidden: Object,
}

impl Hiding<'_> {
    fn hide_in_event(&mut self, event: &mut Event) {
        let known = self.known;
        match event {
            Event::Write(write) => self.hide_in_write(write),
            Event::Step { text } | Event::Fault { text } => known.hide_in_text(text),
            Event::Outcome { text, failure, .. } => {
                std::iter::once(text).chain(failure).for_each(|text| known.hide_in_text(text));
            }
            Event::Command { line, stdout, stderr, .. } => {
                for text in [line, stdout, stderr] {
                    known.hide_in_text(text);
                }
            }
            Event::Alert(alert) => {
                let texts = alert.labels.values_mut().chain(alert.annotations.values_mut());
                texts.for_each(|text| known.hide_in_text(text));
            }
            Event::Kubernetes { .. } | Event::Process { .. } => {}
        }
    }

    fn hide_in_write(&mut self, write: &mut WriteEvent) {
        self.known.hide_in_text(&mut write.message);
        let is_secret = write.key.is_kind(&SECRETS);
        let original = write.state_after().cloned();
        let before = write.before.clone();
        write.before = before.as_ref().map(|before| self.hidden_before(write, before));
        write.after = write.after.take().map(|after| match (&before, &write.before) {
            (Some(before), Some(hidden)) if !is_secret => self.hidden_after(before, hidden, &after),
            _ => self.known.hidden_object(&after, is_secret, &mut self.memory),
        });
        match (original, write.state_after().cloned()) {
            (Some(original), Some(hidden)) => {
                self.states.insert(&write.key, State { original, hidden });
            }
            _ => drop(self.states.remove(&write.key)),
        }
    }

    fn hidden_before(&mut self, write: &WriteEvent, before: &Object) -> Object {
        match self.states.get(&write.key).filter(|state| state.original.is_same(before)) {
            Some(state) => state.hidden.clone(),
            None => self.known.hidden_object(before, write.key.is_kind(&SECRETS), &mut self.memory),
        }
    }

    /// Returns a state without the values, after a state whose form without the values is known.
    fn hidden_after(&mut self, before: &Object, hidden_before: &Object, after: &Object) -> Object {
        if after.is_same(before) {
            return hidden_before.clone();
        }
        let Some(mut patch) = after.patch_since(before).or_else(|| patch::between(before, after)) else {
            return self.known.hidden_object(after, false, &mut self.memory);
        };
        if self.known.is_in_value(&patch, &mut self.memory) {
            self.known.hide_in_value(&mut patch);
        } else if hidden_before.is_same(before) {
            return after.clone();
        }
        // A state that takes little memory still does.
        let is_small = after.is_delta();
        let hidden = if is_small { hidden_before.with_patch(&patch) } else { None };
        hidden.unwrap_or_else(|| self.known.hidden_object(after, false, &mut self.memory))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::clock::Time;
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;
    use crate::record::{Entry, Header};

    /// A record in which a ConfigMap has these data one after the other.
    fn record(data: &[Value]) -> Record {
        let state = |data: &Value| {
            Object::new(json!({ "kind": "ConfigMap", "metadata": { "name": "c" }, "data": data }))
        };
        let states: Vec<Object> = data.iter().map(state).collect();
        let write = |(index, after): (usize, &Object)| Entry {
            at: Time::UNIX_EPOCH,
            event: Event::Write(Box::new(WriteEvent {
                by: "b".to_owned(),
                process: String::new(),
                verb: "update".to_owned(),
                kind: "ConfigMap".to_owned(),
                key: CONFIG_MAPS.key("", "c"),
                subresource: String::new(),
                code: 200,
                message: String::new(),
                before: index.checked_sub(1).map(|before| states[before].clone()),
                after: Some(after.clone()),
            })),
        };
        Record::new(Header::default(), states.iter().enumerate().map(write).collect())
    }

    fn secrets() -> Secrets {
        Secrets::of_objects([&json!({ "kind": "Secret", "stringData": { "password": "correct horse" } })])
    }

    #[test]
    fn each_state_of_an_object_is_hidden_as_a_whole() {
        let states = [
            json!({ "a": "correct horse" }),
            json!({ "a": "correct horse", "b": "1" }),
            json!({ "a": "staple", "b": "1" }),
            json!({ "a": "staple", "b": "correct horse", "correct horse": "2" }),
            json!({ "a": "staple", "b": "1", "c": null }),
            json!({ "a": "correct horse" }),
        ];
        let hide = |data: &Value| {
            serde_json::from_str(&data.to_string().replace("correct horse", "REDACTED")).unwrap()
        };
        let mut hidden = record(&states);
        secrets().hide_in(&mut hidden);
        let expected = record(&states.each_ref().map(hide));
        assert_eq!(hidden.to_lines(), expected.to_lines());
    }

    #[test]
    fn a_folded_record_is_hidden_and_stays_folded() {
        let states: Vec<Value> =
            (0..40).map(|n| json!({ "n": n, "a": format!("correct horse {}", n / 5) })).collect();
        let (mut folded, mut plain) = (record(&states), record(&states));
        let mut before = None::<Object>;
        for entry in &mut folded.entries {
            let Event::Write(write) = &mut entry.event else { continue };
            let after = write.after.take().unwrap();
            let patch = write.before.as_ref().and_then(|before| patch::between(before, &after));
            write.before = before.clone();
            let small = before.as_ref().zip(patch).and_then(|(before, patch)| before.with_patch(&patch));
            write.after = Some(small.unwrap_or(after));
            before.clone_from(&write.after);
        }
        let secrets = secrets();
        secrets.hide_in(&mut folded);
        secrets.hide_in(&mut plain);
        assert_eq!(folded.to_lines(), plain.to_lines());
        assert!(!plain.to_lines().contains("correct horse"));
        let is_small = |entry: &&Entry| matches!(&entry.event, Event::Write(write) if write.after.as_ref().is_some_and(Object::is_delta));
        assert!(folded.entries.iter().filter(is_small).count() > 30);
    }
}
