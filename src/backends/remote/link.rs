//! The shared state of the engine's connection, its watches and the clients of controllers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use serde_json::Value;
use tokio::sync::watch;
use windtunnel_core::clock::{ManualClock, Time};
use windtunnel_core::{Resource, resources};

use super::marks::stamp::Stamp;
use super::waits::lag::{Lag, Topic};
use super::waits::pending_work::PendingWork;
use super::wire::Wire;
use crate::record::Secrets;

/// An observation of the cluster, in order of arrival.
#[derive(Debug)]
pub(crate) enum Observation {
    /// A state of an object.
    Object(Resource, Value),
    /// A deleted object; its last state has the revision of the deletion.
    Gone(Resource, Value),
    /// All objects of a kind at a revision.
    All(Resource, Vec<Value>, u64),
    /// A write of a controller's client.
    Wrote(Box<Wrote>),
}

/// A write of a controller's client, and its answer.
#[derive(Debug)]
pub(crate) struct Wrote {
    pub(super) at: Time,
    pub(super) by: String,
    pub(super) verb: &'static str,
    pub(super) resource: Resource,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: String,
    pub(super) code: u16,
    pub(super) message: String,
    /// The object after the write, if the answer contains it.
    pub(super) object: Option<Value>,
}

/// A connection and the state that belongs to it.
pub(crate) struct Link {
    pub(super) wire: Arc<Wire>,
    /// The marks for objects of this run.
    pub(super) stamp: Stamp,
    pub(super) lag: Lag,
    /// Values that the run must not print.
    pub(super) secrets: Arc<Secrets>,
    /// Pending work of the cluster's own controllers.
    pending_work: PendingWork,
    inbox: mpsc::Sender<Observation>,
    moved: watch::Sender<u64>,
    requests: AtomicU64,
    closed: AtomicBool,
    /// The run's time, readable by other threads.
    time: Option<Arc<ManualClock>>,
    /// The kinds that are followed, by group and plural.
    followed: Mutex<BTreeSet<(String, String)>>,
}

impl Link {
    pub(crate) fn new(
        wire: Arc<Wire>,
        stamp: Stamp,
        time: Option<Arc<ManualClock>>,
    ) -> (Arc<Self>, mpsc::Receiver<Observation>) {
        let (inbox, seen) = mpsc::channel();
        let link = Self {
            wire,
            stamp,
            lag: Lag::default(),
            secrets: Arc::default(),
            pending_work: PendingWork::default(),
            inbox,
            moved: watch::Sender::new(0),
            requests: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            time,
            followed: Mutex::default(),
        };
        (Arc::new(link), seen)
    }

    /// Passes an observation to the engine.
    pub(super) fn report(&self, seen: Observation) {
        self.learn(&seen);
        match &seen {
            Observation::Object(resource, object) => self.note(resource, object),
            Observation::Gone(resource, object) => {
                self.note(resource, object);
                self.pending_work.forget(resource, object);
            }
            Observation::Wrote(wrote) => {
                if let Some(object) = &wrote.object {
                    self.note(&wrote.resource, object);
                }
            }
            Observation::All(resource, objects, _) => {
                self.pending_work.forget_all(resource);
                for object in objects {
                    self.pending_work.note(&self.stamp, resource, object);
                }
            }
        }
        // The receiver is gone once the run is over.
        let _ = self.inbox.send(seen);
        self.moved.send_modify(|count| *count += 1);
    }

    /// Stores the values that the run must not print.
    fn learn(&self, seen: &Observation) {
        let is_secret =
            |resource: &Resource| resource.group.is_empty() && resource.plural == resources::SECRETS.plural;
        match seen {
            Observation::Object(resource, object) | Observation::Gone(resource, object)
                if is_secret(resource) =>
            {
                self.secrets.learn_secret(object);
            }
            Observation::All(resource, items, _) if is_secret(resource) => {
                for item in items {
                    self.secrets.learn_secret(item);
                }
            }
            _ => {}
        }
    }

    /// Makes cluster time wait for the cluster's own controllers from now on.
    pub(crate) fn wait_for_controllers(&self) {
        self.pending_work.begin();
    }

    /// Returns whether controllers have yet to receive or process something that is known here.
    pub(super) fn is_behind(&self) -> bool {
        self.lag.is_behind() || self.pending_work.has_pending()
    }

    /// Stops waiting for them.
    pub(super) fn give_up_waiting(&self) {
        self.lag.give_up();
        self.pending_work.give_up();
    }

    /// Notes an object that watches of controllers must deliver, or that the cluster's own controllers must
    /// process.
    pub(super) fn note(&self, resource: &Resource, object: &Value) {
        self.pending_work.note(&self.stamp, resource, object);
        if self.stamp.hides(resource, object) {
            return;
        }
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let topic = Topic {
            group: resource.group.to_string(),
            plural: resource.plural.to_string(),
            namespace: text("namespace").to_owned(),
        };
        self.lag.moved(topic, text("resourceVersion").parse().unwrap_or(0));
    }

    /// Notifies of observations: the receiver's value changes with each.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    pub(super) fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Publishes the run's current time.
    pub(super) fn set_time(&self, now: Time) {
        if let Some(clock) = &self.time {
            clock.set(now);
        }
    }

    /// Marks a kind as followed; returns false if it was before.
    pub(super) fn start_following(&self, resource: &Resource) -> bool {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.insert((resource.group.to_string(), resource.plural.to_string()))
    }

    /// Marks a kind as not followed.
    pub(super) fn stop_following(&self, resource: &Resource) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.remove(&(resource.group.to_string(), resource.plural.to_string()));
    }

    pub(super) fn follows(&self, resource: &Resource) -> bool {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.contains(&(resource.group.to_string(), resource.plural.to_string()))
    }

    /// Rejects all writes from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Returns whether writes are rejected.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}
