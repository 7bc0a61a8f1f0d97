//! Requests through the door, and where what they lead to goes: into the record, the view and the actors' inboxes.

use std::collections::BTreeSet;

use windtunnel_controllers::schedule::{ActorId, Request};
use windtunnel_core::clock::Clock as _;
use windtunnel_core::{Change, ChangeKind, Identity, Object, Refusal, View, Write};

use super::simulation::Simulation;
use crate::engine::faults::crashes::Moment;
use crate::plan::Invariant;
use crate::record::{Entry, Event, WriteEvent};

/// Who removes what goes with something else, as the record calls it.
const API_SERVER: &str = "kube-apiserver";

impl Simulation {
    /// Makes an actor's requests, after those of earlier turns. False when the actor died of one.
    pub(in crate::engine) fn request(&mut self, id: ActorId, writes: Vec<Write>) -> bool {
        self.schedule.queue(id, writes);
        self.send(id)
    }

    /// Makes the requests that an actor's client still has to make, and gives the actor the answers.
    fn send(&mut self, id: ActorId) -> bool {
        let now = self.now();
        while let Some(Request { by, identity, write }) = self.schedule.next_request(id, now) {
            let crash = self.crash_at(&by, &write);
            if crash == Some(Moment::Before) {
                self.crash(id);
                return false;
            }
            let outcome = self.write(&by, &identity, &write);
            if crash == Some(Moment::After) {
                self.crash(id);
                return false;
            }
            self.schedule.answer(id, write, outcome, now);
        }
        true
    }

    /// Repeats the requests that are due.
    pub(in crate::engine) fn retry(&mut self) {
        let now = self.now();
        while let Some(id) = self.schedule.next_retry(now) {
            self.send(id);
        }
    }

    /// Makes a request through the door and records it.
    pub(in crate::engine) fn write(
        &mut self,
        by: &str,
        who: &Identity,
        write: &Write,
    ) -> Result<Object, Refusal> {
        let at = self.now();
        let before = self.view.get_key(&write.key()).cloned();
        let outcome = self.door.write(by, who, write, at);
        let mut removals = self.read_changes();
        removals.retain(|removal| removal.key != write.key());
        let event = write_event(by, write, before, &outcome, &self.view);
        self.invariants.notice(&event, at);
        for event in std::iter::once(event).chain(removals) {
            self.record.entries.push(Entry { at, event: Event::Write(Box::new(event)) });
        }
        outcome
    }

    /// Takes what changed behind the door into the view and the record, and hands it out.
    pub(in crate::engine) fn take_changes(&mut self) {
        for removal in self.read_changes() {
            self.note(Event::Write(Box::new(removal)));
        }
    }

    /// Takes what changed behind the door into the view, records what kube clients wrote, and hands changes out.
    /// Returns the removals that none of these writes tells of: objects that went with something else.
    fn read_changes(&mut self) -> Vec<WriteEvent> {
        let mut told = BTreeSet::new();
        for (at, event) in self.door.client_writes() {
            if event.removes() {
                told.insert(event.key.clone());
            }
            self.record.entries.push(Entry { at, event: Event::Write(Box::new(event)) });
        }
        let mut removals = Vec::new();
        for change in self.door.changes(&self.view) {
            self.view.apply(&change);
            let now = self.clock.now();
            if let Some(leap) = self.phases.notice(&change, &self.view, now) {
                self.invariants.report(
                    Invariant::NodeOrder,
                    &format!("Node/{}", leap.node),
                    now,
                    &leap.to_string(),
                );
            }
            self.notice_node(&change);
            self.exports.notice(&change);
            self.schedule.deliver(&change);
            if change.kind == ChangeKind::Deleted && !told.contains(&change.key) {
                removals.push(removal(change));
            }
        }
        removals
    }

    /// A text without what the cluster's secrets hold.
    pub(in crate::engine) fn hide(&self, text: &str) -> String {
        self.door.secrets().map_or_else(|| text.to_owned(), |secrets| secrets.hide(text))
    }

    /// Records something that is no write.
    pub(in crate::engine) fn note(&mut self, event: Event) {
        let at = self.now();
        self.record.entries.push(Entry { at, event });
    }
}

/// What the record tells of an object that went with another, as custom resources do with their definition, or as one
/// of a collection.
fn removal(change: Change) -> WriteEvent {
    WriteEvent {
        by: API_SERVER.to_owned(),
        verb: "delete".to_owned(),
        kind: change.object.text("/kind").to_owned(),
        key: change.key,
        subresource: String::new(),
        code: 200,
        message: String::new(),
        before: change.old.or(Some(change.object)),
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
            // What is answered to evictions and bindings is no pod.
            if key.name.is_empty() {
                object.name().clone_into(&mut key.name);
            }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use kube::api::{DeleteParams, ListParams};
    use serde_json::json;
    use windtunnel_core::clock::{Time, VirtualClock};
    use windtunnel_core::resources::CONFIG_MAPS;
    use windtunnel_core::rng::Streams;
    use windtunnel_openshift::world::World;

    use super::*;
    use crate::backends::in_process::InProcess;
    use crate::record::{Header, Record};

    #[tokio::test(start_paused = true)]
    async fn the_record_tells_of_each_object_of_a_collection_that_a_client_deletes() {
        let clock = VirtualClock::starting_at(Time::UNIX_EPOCH);
        let door = InProcess::new(33, 1, clock.clone());
        let shared = door.shared().clone();
        let header = Header::default();
        let record = Record { header, entries: Vec::new() };
        let mut simulation =
            Simulation::new(Box::new(door), clock, Arc::new(World::default()), Streams::new(1), record);
        for name in ["a", "b"] {
            let object = json!({ "metadata": { "namespace": "default", "name": name } });
            simulation.write("someone", &Identity::admin(), &Write::create(&CONFIG_MAPS, object)).unwrap();
        }
        let config_maps: Api<ConfigMap> = Api::namespaced(shared.client(&Identity::admin()), "default");
        config_maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        simulation.take_changes();
        let told = simulation.record.entries.iter().filter_map(|entry| match &entry.event {
            Event::Write(write) if write.removes() => Some((write.by.as_str(), write.key.name.as_str())),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), [(API_SERVER, "a"), (API_SERVER, "b")]);
    }
}
