//! Requests through the door, and where what they lead to goes: into the record, the view and the actors' inboxes.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::clock::{Clock as _, Time, after};
use windtunnel_core::{Answer, Change, ChangeKind, Identity, Object, Refusal, View, Write};

use super::crashes::Moment;
use super::router::ActorId;
use super::simulation::Simulation;
use crate::plan::Invariant;
use crate::record::{Entry, Event, WriteEvent};

/// How often client-go makes a request again that it is told to make again (`maxRetries`).
const RETRIES_MAX: u32 = 10;

/// A request that is to be made again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Retry {
    /// When.
    pub(super) at: Option<Time>,
    tries: u32,
}

/// Who removes what goes with something else, as the record calls it.
const API_SERVER: &str = "kube-apiserver";

impl Simulation {
    /// Makes an actor's requests, after those of earlier turns, and has the answers wait for its next turn. False when it died
    /// of one.
    pub(super) fn request(&mut self, id: ActorId, writes: Vec<Write>) -> bool {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.unsent.extend(writes);
        }
        self.send(id)
    }

    /// Makes the requests that an actor's client still has to make. As client-go does, it asks again when it is told when to,
    /// and the actor does not hear of it; meanwhile what follows waits.
    fn send(&mut self, id: ActorId) -> bool {
        let now = self.now();
        let Some(slot) = self.slots.get_mut(&id) else { return true };
        if slot.retry.at.is_some_and(|at| at > now) {
            return true;
        }
        let (by, identity) = (slot.actor.name().to_owned(), slot.identity.clone());
        while let Some(slot) = self.slots.get_mut(&id) {
            let Some(write) = slot.unsent.pop_front() else { break };
            let other = slot.actor.identity_for(&write);
            let crash = self.crash_at(&by, &write);
            if crash == Some(Moment::Before) {
                self.crash(id);
                return false;
            }
            let outcome = self.write(&by, other.as_ref().unwrap_or(&identity), &write);
            if crash == Some(Moment::After) {
                self.crash(id);
                return false;
            }
            let Some(slot) = self.slots.get_mut(&id) else { return true };
            if let Some(pause) = retry_after(&outcome).filter(|_| slot.retry.tries < RETRIES_MAX) {
                let at = after(now, pause);
                slot.retry = Retry { at: Some(at), tries: slot.retry.tries + 1 };
                slot.unsent.push_front(write);
                self.retries.insert((at, id));
                return true;
            }
            slot.retry = Retry::default();
            slot.unread.push(Answer { write, outcome });
        }
        if let Some(slot) = self.slots.get_mut(&id).filter(|slot| !slot.unread.is_empty()) {
            slot.answers.append(&mut slot.unread);
            self.ready.insert(id);
        }
        true
    }

    /// Makes the requests again whose time has come.
    pub(super) fn retry(&mut self) {
        let now = self.now();
        while let Some((at, id)) = self.retries.first().copied().filter(|(at, _)| *at <= now) {
            self.retries.remove(&(at, id));
            self.send(id);
        }
    }

    /// Makes a request through the door and records it.
    pub(super) fn write(&mut self, by: &str, who: &Identity, write: &Write) -> Result<Object, Refusal> {
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
    pub(super) fn take_changes(&mut self) {
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
            for id in self.router.readers(&change) {
                if let Some(slot) = self.slots.get_mut(&id)
                    && slot.hears_of(&change)
                {
                    slot.changes.push(change.clone());
                    self.ready.insert(id);
                }
            }
            if change.kind == ChangeKind::Deleted && !told.contains(&change.key) {
                removals.push(removal(change));
            }
        }
        removals
    }

    /// A text without what the cluster's secrets hold.
    pub(super) fn hide(&self, text: &str) -> String {
        self.door.secrets().map_or_else(|| text.to_owned(), |secrets| secrets.hide(text))
    }

    /// Records something that is no write.
    pub(super) fn note(&mut self, event: Event) {
        let at = self.now();
        self.record.entries.push(Entry { at, event });
    }
}

/// When a client asks again by itself: after 429 and errors of the server that say how long to wait (`Retry-After`).
fn retry_after(outcome: &Result<Object, Refusal>) -> Option<SignedDuration> {
    let refusal = outcome.as_ref().err().filter(|refusal| refusal.code == 429 || refusal.code >= 500)?;
    let seconds = refusal.details["retryAfterSeconds"].as_i64().filter(|seconds| *seconds > 0)?;
    Some(SignedDuration::from_secs(seconds))
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
