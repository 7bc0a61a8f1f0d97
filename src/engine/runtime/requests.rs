//! Sends requests through the cluster connection, and takes changes into the record, the view and the actors'
//! inboxes.

use std::collections::BTreeSet;

use windtunnel_controllers::schedule::{ActorId, Request};
use windtunnel_core::clock::Clock as _;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::{Change, ChangeKind, Identity, Object, Operation, Rejection, View, Write};

use super::crashes::CrashMoment;
use super::simulation::Simulation;
use crate::engine::error::SessionError;
use crate::record::{Entry, Event, INSTALLER, WriteEvent};

/// The writer, in the record, of removals that follow from other removals.
const API_SERVER: &str = "kube-apiserver";

impl Simulation {
    /// Makes an actor's requests, after those of earlier turns. Returns false if the actor crashed at one.
    pub(in crate::engine) fn request(&mut self, id: ActorId, writes: Vec<Write>) -> bool {
        self.schedule.queue(id, writes);
        self.send(id)
    }

    /// Makes the remaining requests of an actor's client, and gives the actor the answers.
    fn send(&mut self, id: ActorId) -> bool {
        let now = self.now();
        while let Some(Request { by, agent, identity, write }) = self.schedule.next_request(id, now) {
            let crash = self.crash_at(&by, &write);
            if crash == Some(CrashMoment::Before) {
                self.crash(id);
                return false;
            }
            let outcome = self.write_with(&agent, &by, &identity, &write);
            if crash == Some(CrashMoment::After) {
                self.crash(id);
                return false;
            }
            self.schedule.answer(id, write, outcome, now);
        }
        true
    }

    /// Decides whether the process `by` crashes at this write, and records it.
    fn crash_at(&mut self, by: &str, write: &Write) -> Option<CrashMoment> {
        let moment = self.crashes.at_write(by, write)?;
        let when = if moment == CrashMoment::Before { "before" } else { "after" };
        let text = format!("{by} crashes {when} {} {}", write.verb(), write.key());
        self.record_event(Event::Fault { text });
        Some(moment)
    }

    /// Retries the requests that are due.
    pub(in crate::engine) fn retry(&mut self) {
        let now = self.now();
        while let Some(id) = self.schedule.next_retry(now) {
            self.send(id);
        }
    }

    /// Makes a request and records it.
    pub(in crate::engine) fn write(
        &mut self,
        by: &str,
        who: &Identity,
        write: &Write,
    ) -> Result<Object, Rejection> {
        self.write_with(by, by, who, write)
    }

    /// Makes a request with the user agent `agent`, and records it as a write of `by`.
    fn write_with(
        &mut self,
        agent: &str,
        by: &str,
        who: &Identity,
        write: &Write,
    ) -> Result<Object, Rejection> {
        let at = self.now();
        self.learn_secrets(write);
        let before = self.view.get_key(&write.key()).cloned();
        let outcome = self.connection.write(agent, who, write, at);
        // The removal of the written object itself is in the record as this write.
        let mut removals = self.read_changes();
        removals.retain(|removal| removal.key != write.key());
        let event = write_event(by, write, before, &outcome, &self.view);
        self.observers.on_write(&event, at);
        let done_anyway = outcome.is_err().then(|| write_despite_error(&event, &self.view)).flatten();
        for event in std::iter::once(event).chain(done_anyway).chain(removals) {
            self.record.entries.push(Entry { at, event: Event::Write(Box::new(event)) });
        }
        outcome
    }

    /// Stores objects of another cluster as they are. They are in the record as writes of the installer.
    ///
    /// # Errors
    /// The API server cannot store one of them.
    pub(in crate::engine) fn take_over(&mut self, objects: &[Object]) -> Result<(), SessionError> {
        if objects.is_empty() {
            return Ok(());
        }
        let at = self.now();
        let outcome = self.connection.take_over(objects, at);
        outcome.map_err(|why| SessionError::Unsupported(format!("the cluster cannot be copied: {why}")))?;
        for change in self.connection.changes(&self.view) {
            self.deliver(&change);
            self.record.entries.push(Entry { at, event: Event::Write(Box::new(taken_over(change))) });
        }
        Ok(())
    }

    /// Takes new changes into the view and the record, and delivers them.
    pub(in crate::engine) fn take_changes(&mut self) {
        for removal in self.read_changes() {
            self.record_event(Event::Write(Box::new(removal)));
        }
    }

    /// Takes a change into the view, and delivers it to observers and actors.
    fn deliver(&mut self, change: &Change) {
        self.view.apply(change);
        self.observers.on_change(change, &self.view, self.clock.now());
        self.set_clock_by_fault(change);
        self.schedule.deliver(change);
    }

    /// Takes new changes into the view, records the writes of kube clients, and delivers the changes. Returns
    /// the removals that none of these writes mentions: objects that were removed along with others.
    fn read_changes(&mut self) -> Vec<WriteEvent> {
        let mut removed_by_clients = BTreeSet::new();
        for (at, event) in self.connection.client_writes() {
            if event.removes() {
                removed_by_clients.insert(event.key.clone());
            }
            self.record.entries.push(Entry { at, event: Event::Write(Box::new(event)) });
        }
        for read in self.connection.client_reads() {
            self.reads.add(read, self.record.header.epoch);
        }
        let mut removals = Vec::new();
        for change in self.connection.changes(&self.view) {
            self.deliver(&change);
            if change.kind == ChangeKind::Deleted && !removed_by_clients.contains(&change.key) {
                removals.push(removal(change));
            }
        }
        removals
    }

    /// Learns the values in a write of a Secret, which the API server may reject.
    fn learn_secrets(&self, write: &Write) {
        if write.resource == SECRETS
            && let Operation::Create(secret) | Operation::Update(secret) | Operation::MergePatch(secret) =
                &write.operation
        {
            self.observers.secrets.learn_secret(secret);
        }
    }

    /// Records an event that is not a write.
    pub(in crate::engine) fn record_event(&mut self, event: Event) {
        let at = self.now();
        self.record.entries.push(Entry { at, event });
    }
}

/// The record's entry for an object of another cluster.
fn taken_over(change: Change) -> WriteEvent {
    WriteEvent {
        by: INSTALLER.to_owned(),
        process: String::new(),
        verb: "create".to_owned(),
        kind: change.object.text("/kind").to_owned(),
        key: change.key,
        subresource: String::new(),
        code: 201,
        message: String::new(),
        before: change.old,
        after: Some(change.object),
    }
}

/// The record entry of an object that was removed along with another one, such as a custom resource with its
/// CRD, or as part of a collection.
fn removal(change: Change) -> WriteEvent {
    WriteEvent {
        by: API_SERVER.to_owned(),
        process: String::new(),
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

/// The record entry of a write that was done although its client got an error, because the connection ended after it.
/// An audit log lists such a write as a successful one.
fn write_despite_error(event: &WriteEvent, view: &View) -> Option<WriteEvent> {
    let after = view.get_key(&event.key).cloned();
    let is_unchanged = match (&event.before, &after) {
        (None, None) => true,
        (Some(before), Some(after)) => before.is_same(after),
        _ => false,
    };
    let code = if event.verb == "create" { 201 } else { 200 };
    (!is_unchanged).then(|| WriteEvent { code, message: String::new(), after, ..event.clone() })
}

fn write_event(
    by: &str,
    write: &Write,
    before: Option<Object>,
    outcome: &Result<Object, Rejection>,
    view: &View,
) -> WriteEvent {
    let mut key = write.key();
    let (code, message) = match outcome {
        Ok(object) => {
            // Evictions and bindings are not answered with a Pod.
            if key.name.is_empty() {
                object.name().clone_into(&mut key.name);
            }
            (if write.verb() == "create" { 201 } else { 200 }, String::new())
        }
        Err(rejection) => (rejection.code, rejection.message.clone()),
    };
    let after = outcome.is_ok().then(|| view.get_key(&key).cloned()).flatten();
    WriteEvent {
        by: by.to_owned(),
        process: String::new(),
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
    use windtunnel_core::requests::faults::{FaultEffect, Hits, LostAnswer, RequestFault, RequestFilter};
    use windtunnel_core::resources::CONFIG_MAPS;
    use windtunnel_core::rng::Streams;
    use windtunnel_openshift::environment::Environment;

    use super::*;
    use crate::backends::in_process::InProcess;
    use crate::record::{Header, Record};

    /// A simulation, and an administrator's client.
    fn simulation() -> (Simulation, kube::Client) {
        let clock = VirtualClock::starting_at(Time::UNIX_EPOCH);
        let connection = InProcess::new(33, 1, clock.clone());
        let client = connection.shared().client(&Identity::admin());
        let record = Record::new(Header::default(), Vec::new());
        let environment = Arc::new(Environment::default());
        let simulation = Simulation::new(Box::new(connection), clock, environment, Streams::new(1), record);
        (simulation, client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_was_done_without_an_answer_is_recorded_as_done() {
        let (mut simulation, _) = simulation();
        let admin = Identity::admin();
        let object = |name: &str| json!({ "metadata": { "namespace": "default", "name": name } });
        let lose = |simulation: &mut Simulation, lost| {
            simulation.connection.fail(RequestFault {
                requests: RequestFilter::default(),
                effect: FaultEffect::Lost(lost),
                hits: Hits::new(1, Some(1)),
                message: String::new(),
                retry_after: 1,
            });
        };
        lose(&mut simulation, LostAnswer::DroppedAfterWrite);
        simulation.write("someone", &admin, &Write::create(&CONFIG_MAPS, object("done"))).unwrap_err();
        lose(&mut simulation, LostAnswer::Dropped);
        simulation.write("someone", &admin, &Write::create(&CONFIG_MAPS, object("not-done"))).unwrap_err();
        lose(&mut simulation, LostAnswer::DroppedAfterWrite);
        simulation.write("someone", &admin, &Write::delete(&CONFIG_MAPS, "default", "done")).unwrap_err();
        let writes = simulation.record.entries.iter().filter_map(|entry| match &entry.event {
            Event::Write(write) => Some((write.key.name.as_str(), write.code < 400, write.after.is_some())),
            _ => None,
        });
        let wanted = [
            ("done", false, false),
            ("done", true, true),
            ("not-done", false, false),
            ("done", false, false),
            ("done", true, false),
        ];
        assert_eq!(writes.collect::<Vec<_>>(), wanted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_collection_is_recorded_object_by_object() {
        let (mut simulation, client) = simulation();
        for name in ["a", "b"] {
            let object = json!({ "metadata": { "namespace": "default", "name": name } });
            simulation.write("someone", &Identity::admin(), &Write::create(&CONFIG_MAPS, object)).unwrap();
        }
        let config_maps: Api<ConfigMap> = Api::namespaced(client, "default");
        config_maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        simulation.take_changes();
        let deletions = simulation.record.entries.iter().filter_map(|entry| match &entry.event {
            Event::Write(write) if write.removes() => Some((write.by.as_str(), write.key.name.as_str())),
            _ => None,
        });
        assert_eq!(deletions.collect::<Vec<_>>(), [(API_SERVER, "a"), (API_SERVER, "b")]);
    }
}
