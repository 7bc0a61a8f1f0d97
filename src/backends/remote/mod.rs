//! A cluster behind HTTPS: windtunnel's own API server, or any other.
//!
//! ```text
//! engine --ClusterConnection--> Remote --> Wire (threads, HTTPS) --> API server
//!   ^                              ^                                    |
//!   |                              +------ Known <-- follow (watches) --+
//!   +-- controllers --> Bridge (kube clients) --------------------------+
//! ```
//!
//! The engine's time stays virtual: it stands still during requests, so the speed of the server does not
//! change the result of the steps.
//!
//! * `wire.rs` and `reply.rs`: requests
//! * `watching/`: the known state: `watching/follow.rs`, `watching/known.rs`; `watching/bridge.rs` serves the clients of controllers
//! * `waits/`: the reasons for which cluster time waits
//! * `marks/`: the marks on objects of a run (`marks/stamp.rs`, `marks/keep_marks.rs`), and the cleanup by them (`marks/runs.rs`,
//!   `marks/sweep/`)
//! * `heartbeats.rs`: Leases of nodes

mod concessions;
mod definitions;
pub(crate) mod heartbeats;
mod link;
pub(in crate::backends) mod marks;
mod others;
mod pace;
mod paths;
mod rate_limit;
mod reply;
mod retry;
mod rights;
#[cfg(test)]
mod scripted;
mod server;
mod waits;
mod watching;
mod wire;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use windtunnel_core::clock::{Clock, Time};
use windtunnel_core::requests::faults::{RequestFault, RequestFilter};
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, NODES, SERVICE_ACCOUNTS};
use windtunnel_core::{Change, Identity, Object, Operation, Rejection, Resource, View, Write};

pub(crate) use self::link::Link;
use self::link::{Observation, Wrote};
use self::marks::cordon;
use self::marks::keep_marks::Sent;
pub(crate) use self::marks::stamp::Stamp;
pub use self::marks::stamp::{RUN, SIMULATED};
pub(crate) use self::rights::grant_kubelet_permissions;
use self::server::Server;
use self::watching::bridge::Bridge;
use self::watching::known::Known;
pub(crate) use self::wire::Wire;
use super::{Capabilities, ClusterConnection, Pace};
use crate::record::{Secrets, WriteEvent};

/// The time limit for a watch to deliver a deletion.
const DELETION_SHOWS: Duration = Duration::from_secs(5);

/// Functions that only windtunnel's own API server has.
pub(crate) trait OwnServer: Send {
    /// As [`ClusterConnection::fail`].
    fn fail(&mut self, fault: RequestFault);
    /// As [`ClusterConnection::heal`].
    fn heal(&mut self, requests: Option<&RequestFilter>);
    /// As [`ClusterConnection::serve_kubernetes`], without errors.
    fn serve_kubernetes(&mut self, minor: u32);
}

/// The connection to a cluster behind HTTPS.
pub(crate) struct Remote {
    link: Arc<Link>,
    inbox: mpsc::Receiver<Observation>,
    known: Known,
    log: Vec<(Time, WriteEvent)>,
    clock: Arc<dyn Clock>,
    speed: Option<f64>,
    capabilities: Capabilities,
    server: Server,
    own_server: Option<Box<dyn OwnServer>>,
    /// Cleans up after the run.
    end: Option<Box<dyn Send>>,
}

/// The settings of a [`Remote`] other than its link.
pub(crate) struct Terms {
    /// The clock of the run.
    pub(crate) clock: Arc<dyn Clock>,
    /// The maximum speed of the run's clock, as a multiple of the wall clock; `None` is unlimited.
    pub(crate) speed: Option<f64>,
    pub(crate) capabilities: Capabilities,
    pub(crate) own_server: Option<Box<dyn OwnServer>>,
    /// Dropped at the end of the run.
    pub(crate) end: Box<dyn Send>,
}

impl Remote {
    /// Opens the connection and loads all existing objects.
    ///
    /// # Errors
    /// Discovery or a list fails.
    pub(crate) fn open(
        link: Arc<Link>,
        inbox: mpsc::Receiver<Observation>,
        terms: Terms,
    ) -> Result<Self, Rejection> {
        let Terms { clock, speed, capabilities, own_server, end } = terms;
        link.set_time(clock.now());
        let followed = Arc::clone(&link);
        let found = link.wire.wait(async move { definitions::follow_all(&followed).await });
        found.unwrap_or(Ok(()))?;
        let known = Known::of(link.stamp.run.is_none());
        let (log, server) = (Vec::new(), Server::of(&link.wire));
        let end = Some(end);
        let mut remote =
            Self { link, inbox, known, log, clock, speed, capabilities, server, own_server, end };
        remote.catch_up();
        remote.give_accounts();
        Ok(remote)
    }

    /// Processes the observations so far.
    fn catch_up(&mut self) {
        while let Ok(seen) = self.inbox.try_recv() {
            self.process(seen);
        }
    }

    fn process(&mut self, seen: Observation) {
        match seen {
            Observation::Object(resource, object) => self.known.observe(&resource, object),
            Observation::Gone(resource, object) => {
                let revision =
                    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
                self.known.remove(&resource.key_of(&object), revision.unwrap_or(0));
            }
            Observation::All(resource, items, revision) => self.known.replace(&resource, items, revision),
            Observation::Wrote(wrote) => self.process_write(*wrote),
        }
    }

    /// Processes a controller's write, and adds it to the log for the record.
    fn process_write(&mut self, wrote: Wrote) {
        let Wrote { at, by, verb, resource, namespace, name, subresource, code, message, object } = wrote;
        let key =
            object.as_ref().map_or_else(|| resource.key(&namespace, &name), |object| resource.key_of(object));
        let mut before = self.known.get(&key).cloned();
        let mut after = None;
        if let Some(object) = object {
            // The watch may have delivered it before.
            let revision = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
            self.known.observe(&resource, object);
            after = self.known.get(&key).cloned();
            if before.as_ref().is_some_and(|before| before.resource_version() == revision) {
                before = self.known.before(&key).cloned();
            }
        } else if code >= 400 {
            after.clone_from(&before);
        }
        let event = WriteEvent {
            by,
            process: String::new(),
            verb: verb.to_owned(),
            kind: resource.kind.into_owned(),
            key,
            subresource,
            code,
            message,
            before,
            after: after.filter(|_| code < 400),
        };
        self.log.push((at, event));
    }

    /// Processes the answer to a write; reads the object if the answer does not contain it.
    fn process_answer(&mut self, write: &Write, answer: Value) -> Object {
        self.link.secrets.learn(&answer);
        let is_deletion = matches!(write.operation, Operation::Delete(_));
        let before = self.known.get(&write.key()).cloned();
        if !is_deletion && answer["kind"].as_str() == Some(&*write.resource.kind) {
            let key = write.resource.key_of(&answer);
            self.link.note(&write.resource, &answer);
            self.known.observe(&write.resource, answer);
            return self.known.get(&key).cloned().unwrap_or_else(|| Object::new(Value::Null));
        }
        match self.link.wire.get(&write.resource.path(&write.namespace, &write.name)).checked() {
            Ok(object) => {
                self.link.note(&write.resource, &object);
                self.known.observe(&write.resource, object);
            }
            Err(rejection) if rejection.code == 404 => self.await_deletion(write),
            Err(_) => {}
        }
        let last = self.known.get(&write.key()).cloned().or(before);
        last.unwrap_or_else(|| Object::new(answer))
    }

    /// Waits until the watch delivers a deletion, which has the revision.
    fn await_deletion(&mut self, write: &Write) {
        let key = write.key();
        while self.link.follows(&write.resource) && self.known.get(&key).is_some() {
            match self.inbox.recv_timeout(DELETION_SHOWS) {
                Ok(seen) => self.process(seen),
                Err(_) => break,
            }
        }
        if let Some(revision) = self.known.get(&key).map(watching::known::revision) {
            self.known.remove(&key, revision);
        }
    }

    /// Creates the ServiceAccounts `default`, which pods need, in a cluster without a ServiceAccount
    /// controller.
    fn give_accounts(&mut self) {
        let Some(namespaces) = self.link.wire.get(&NAMESPACES.path("", "")).checked().ok() else { return };
        for namespace in namespaces["items"].as_array().into_iter().flatten() {
            self.give_account(namespace["metadata"]["name"].as_str().unwrap_or_default());
        }
    }

    fn give_account(&mut self, namespace: &str) {
        if self.capabilities.controllers
            || self.known.get(&SERVICE_ACCOUNTS.key(namespace, "default")).is_some()
        {
            return;
        }
        let account = serde_json::json!({ "metadata": { "namespace": namespace, "name": "default" } });
        let write = self.stamped(&Write::create(&SERVICE_ACCOUNTS, account));
        if let Ok(request) = paths::request("serviceaccount-controller", &Identity::admin(), &write)
            && let Ok(answer) = self.link.wire.call(request).checked()
        {
            self.process_answer(&write, answer);
        }
    }

    /// Returns the write with the marks of the run, so that the object keeps them.
    fn stamped(&self, write: &Write) -> Write {
        let mut write = write.clone();
        let (stamp, resource, key) = (&self.link.stamp, &write.resource, write.key());
        if write.subresource.is_some() {
            return write;
        }
        if let Operation::Create(object) = &mut write.operation {
            stamp.mark(resource, object);
            return write;
        }
        let live = || self.known.get(&key).map(Object::to_value);
        let Some(sent) = Sent::of(&mut write.operation) else { return write };
        let live_to_keep = if stamp.needs_live(resource, &sent) { live() } else { None };
        stamp.keep(resource, live_to_keep.as_ref(), sent);
        if self.capabilities.controllers
            && key.is_kind(&NODES)
            && let Some(sent) = Sent::of(&mut write.operation)
        {
            cordon::add_taint(live().as_ref(), sent, self.clock.now());
        }
        write
    }

    /// Waits until the kind of a definition is served, and follows it.
    fn define(&mut self, definition: &Object) -> Result<(), Rejection> {
        let (link, definition) = (Arc::clone(&self.link), definition.clone());
        let outcome = self.link.wire.wait(async move { definitions::establish(&link, &definition).await });
        self.catch_up();
        outcome.unwrap_or(Ok(()))
    }
}

impl ClusterConnection for Remote {
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Rejection> {
        if self.link.is_closed() {
            let message = "the run is over".to_owned();
            return Err(Rejection {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message,
                details: Value::Null,
            });
        }
        self.link.set_time(now);
        let write = self.stamped(write);
        let bad =
            |message| Rejection { code: 400, reason: "BadRequest".to_owned(), message, details: Value::Null };
        let request = paths::request(by, who, &write).map_err(bad)?;
        let answer = self.link.wire.call(request).checked();
        self.catch_up();
        let object = self.process_answer(&write, answer?);
        let is = |resource: &Resource| {
            write.resource.group == resource.group && write.resource.plural == resource.plural
        };
        match write.operation {
            Operation::Delete(_) => {}
            _ if is(&CUSTOM_RESOURCE_DEFINITIONS) => self.define(&object)?,
            Operation::Create(_) if is(&NAMESPACES) => self.give_account(object.name()),
            _ => {}
        }
        Ok(object)
    }

    fn fail(&mut self, fault: RequestFault) {
        if let Some(own_server) = &mut self.own_server {
            own_server.fail(fault);
        }
    }

    fn heal(&mut self, requests: Option<&RequestFilter>) {
        if let Some(own_server) = &mut self.own_server {
            own_server.heal(requests);
        }
    }

    fn fixed_kubernetes(&self) -> Option<u32> {
        if self.own_server.is_some() { None } else { self.server.minor() }
    }

    fn changes(&mut self, _: &View) -> Vec<Change> {
        self.catch_up();
        let mut changes = self.known.take();
        if self.link.stamp.run.is_some() {
            changes.retain(|change| !others::is_of_others(change, self.capabilities.controllers));
        }
        changes
    }

    fn serve_kubernetes(&mut self, minor: u32) -> Result<(), String> {
        match &mut self.own_server {
            Some(own_server) => own_server.serve_kubernetes(minor),
            None => self.server.can_replace(minor)?,
        }
        Ok(())
    }

    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)> {
        self.catch_up();
        std::mem::take(&mut self.log)
    }

    fn client_requests(&self) -> u64 {
        self.link.requests()
    }

    fn subscribe(&self) -> watch::Receiver<u64> {
        self.link.subscribe()
    }

    fn client(&self, who: &Identity) -> kube::Client {
        let bridge = Bridge {
            link: Arc::clone(&self.link),
            who: Arc::new(who.clone()),
            clock: Arc::clone(&self.clock),
        };
        kube::Client::new(bridge, "default")
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn lost(&self) -> Option<&str> {
        self.link.wire.lost()
    }

    fn secrets(&self) -> Option<Arc<Secrets>> {
        Some(Arc::clone(&self.link.secrets))
    }

    fn pace(&self) -> Option<Arc<dyn Pace>> {
        Some(Arc::new(pace::Scaled::new(Arc::clone(&self.link), self.speed)))
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.link.close();
        drop(self.end.take());
        self.link.wire.end();
    }
}
