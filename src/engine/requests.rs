//! Requests through the door, and where what they lead to goes: into the record, the view and the actors' inboxes.

use super::router::ActorId;
use super::simulation::Simulation;
use crate::model::resources::CUSTOM_RESOURCE_DEFINITIONS;
use crate::model::{Answer, Identity, Key, Object, Refusal, View, Write};
use crate::record::{Entry, Event, WriteEvent};

/// Who removes custom resources whose definition is gone, as the record calls it.
const API_SERVER: &str = "kube-apiserver";

impl Simulation {
    /// Makes an actor's requests, and has the answers wait for its next turn.
    pub(super) fn request(&mut self, id: ActorId, by: &str, who: &Identity, writes: Vec<Write>) {
        let mut answers = Vec::with_capacity(writes.len());
        for write in writes {
            let outcome = self.write(by, who, &write);
            answers.push(Answer { write, outcome });
        }
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.answers = answers;
            self.ready.insert(id);
        }
    }

    /// Makes a request through the door and records it.
    pub(super) fn write(&mut self, by: &str, who: &Identity, write: &Write) -> Result<Object, Refusal> {
        let now = self.now();
        let before = self.view.get_key(&write.key()).cloned();
        let instances = before.as_ref().map_or_else(Vec::new, |before| self.instances(write, before));
        let outcome = self.door.write(who, write, now);
        self.take_changes();
        let event = write_event(by, write, before, &outcome, &self.view);
        self.record.entries.push(Entry { at: now, event: Event::Write(Box::new(event)) });
        for (key, object) in instances {
            if self.view.get_key(&key).is_none() {
                self.note(Event::Write(Box::new(removal(key, object))));
            }
        }
        outcome
    }

    /// The custom resources that may go with the definition that is written: with its end, so do they.
    fn instances(&self, write: &Write, before: &Object) -> Vec<(Key, Object)> {
        if write.resource != CUSTOM_RESOURCE_DEFINITIONS {
            return Vec::new();
        }
        let (group, plural) = (before.text("/spec/group"), before.text("/spec/names/plural"));
        let objects = self.view.objects().filter(|(key, _)| key.group == group && key.plural == plural);
        objects.map(|(key, object)| (key, object.clone())).collect()
    }

    /// Takes what changed behind the door into the view, records what kube clients wrote, and hands changes out.
    pub(super) fn take_changes(&mut self) {
        for (at, event) in self.door.client_writes() {
            self.record.entries.push(Entry { at, event: Event::Write(Box::new(event)) });
        }
        for change in self.door.changes(&self.view) {
            self.view.apply(&change);
            for id in self.router.readers(&change) {
                if let Some(slot) = self.slots.get_mut(&id) {
                    slot.changes.push(change.clone());
                    self.ready.insert(id);
                }
            }
        }
    }

    /// Records something that is no write.
    pub(super) fn note(&mut self, event: Event) {
        let at = self.now();
        self.record.entries.push(Entry { at, event });
    }
}

/// What the record tells of a custom resource that went with its definition.
fn removal(key: Key, object: Object) -> WriteEvent {
    WriteEvent {
        by: API_SERVER.to_owned(),
        verb: "delete".to_owned(),
        kind: object.text("/kind").to_owned(),
        key,
        subresource: String::new(),
        code: 200,
        message: String::new(),
        before: Some(object),
        after: None,
    }
}

fn write_event(
    by: &str,
    write: &Write,
    before: Option<Object>,
    outcome: &Result<Object, Refusal>,
    view: &View,
) -> WriteEvent {
    let mut key = write.key();
    let (code, message) = match outcome {
        Ok(object) => {
            object.name().clone_into(&mut key.name);
            (if write.verb() == "create" { 201 } else { 200 }, String::new())
        }
        Err(refusal) => (refusal.code, refusal.message.clone()),
    };
    let after = outcome.is_ok().then(|| view.get_key(&key).cloned()).flatten();
    WriteEvent {
        by: by.to_owned(),
        verb: write.verb().to_owned(),
        kind: write.resource.kind.to_string(),
        key,
        subresource: write.subresource.unwrap_or_default().to_owned(),
        code,
        message,
        before,
        after,
    }
}
