//! Runs controllers beside an API server, without a scenario.
//!
//! ```
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::api::{Api, PostParams};
//! use kube::runtime::wait::await_condition;
//! use windtunnel_apiserver::ApiServer;
//! use windtunnel_controllers::runner::WithControllers;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = ApiServer::builder().kubernetes(33).with_controllers().start();
//! let namespaces: Api<Namespace> = Api::all(cluster.client());
//! # let mut team = Namespace::default();
//! # team.metadata.name = Some("team".to_owned());
//! namespaces.create(&PostParams::default(), &team).await?;
//! namespaces.delete("team", &Default::default()).await?;
//! // The namespace controller empties and removes it.
//! await_condition(namespaces, "team", |found: Option<&Namespace>| found.is_none()).await?;
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::Value;
use tokio::task::JoinHandle;
use windtunnel_apiserver::Builder;
use windtunnel_apiserver::service::{Feed, Shared, without_owners};
use windtunnel_core::clock::{Clock as _, Time, VirtualClock, after};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Key, View};

use crate::policy_status::TypeChecker;
use crate::schedule::{ActorId, Request, Schedule, Surroundings};
use crate::{Actor, Effect, PayloadWorkloads, Signal, kubernetes_with};

/// How long to wait for a write if no controller is due.
const IDLE: SignedDuration = SignedDuration::from_hours(1);

/// Adds controllers to the settings of an API server.
pub trait WithControllers {
    /// Runs Kubernetes' own controllers ([`kubernetes`](crate::kubernetes)) beside the server.
    fn with_controllers(self) -> BuilderWithControllers;

    /// Runs these controllers beside the server.
    fn with_actors(self, actors: Vec<Box<dyn Actor>>) -> BuilderWithControllers;
}

impl WithControllers for Builder {
    fn with_controllers(self) -> BuilderWithControllers {
        let minor = Some(self.kubernetes_minor());
        self.with_actors(kubernetes_with(&Streams::new(0), PayloadWorkloads::default(), minor))
    }

    fn with_actors(self, actors: Vec<Box<dyn Actor>>) -> BuilderWithControllers {
        BuilderWithControllers { builder: self, actors }
    }
}

/// Settings of an API server with controllers.
pub struct BuilderWithControllers {
    builder: Builder,
    actors: Vec<Box<dyn Actor>>,
}

impl BuilderWithControllers {
    /// Starts the server on the clock of this machine, and the controllers as a task. Must be called on a
    /// tokio runtime.
    pub fn start(self) -> Cluster {
        let server = self.builder.start();
        let task = tokio::spawn(run(server.clone(), self.actors));
        Cluster { server, task }
    }
}

/// A running API server with controllers, which stop when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    server: Shared,
    task: JoinHandle<NoProgress>,
}

impl Cluster {
    /// A client that acts as `system:admin`. Must be called on a tokio runtime; the client lives as long as
    /// the runtime.
    pub fn client(&self) -> kube::Client {
        self.server.client(&Identity::admin())
    }

    /// The server, for direct calls and for clients that act as others.
    pub fn server(&self) -> &Shared {
        &self.server
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Controllers keep writing without time passing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{actor} makes no progress: {turns} turns of controllers at one moment")]
pub struct NoProgress {
    /// The controller whose turn is next.
    pub actor: String,
    /// The number of turns.
    pub turns: u32,
}

/// Runs controllers beside a server until the future is dropped. They use the clock of the runtime, which may
/// be paused. Each acts as the ServiceAccount of the real controller. To run pods, add a
/// [`Kubelet`](crate::kubelet::Kubelet) for each node.
///
/// Returns only if controllers make no progress at one moment.
pub async fn run(server: Shared, actors: Vec<Box<dyn Actor>>) -> NoProgress {
    let clock = VirtualClock::starting_at(server.now());
    let mut runner = Runner::new(server, Arc::clone(&clock));
    for actor in actors {
        runner.schedule.add(actor);
    }
    loop {
        // Subscribed before the pass, so that no later write is missed.
        let mut writes = runner.feed.shared().subscribe();
        if let Err(error) = runner.settle() {
            return error;
        }
        let next = runner.schedule.due().unwrap_or(after(clock.now(), IDLE));
        // In both cases the loop continues, so it does not matter which it was.
        let _ = tokio::time::timeout_at(clock.instant_of(next), writes.changed()).await;
    }
}

impl TypeChecker for Shared {
    fn warnings(&self, policy: &Value) -> Vec<Value> {
        self.with(|server| server.policy_warnings(policy))
    }
}

struct Runner {
    feed: Feed,
    clock: Arc<VirtualClock>,
    view: View,
    schedule: Schedule,
    /// The running containers, with their kubelets.
    containers: BTreeMap<(Key, String), ActorId>,
}

impl Runner {
    fn new(server: Shared, clock: Arc<VirtualClock>) -> Self {
        Self {
            feed: Feed::from_start(server),
            clock,
            view: View::default(),
            schedule: Schedule::default(),
            containers: BTreeMap::new(),
        }
    }

    /// Runs the turns of the actors that are ready or due until none is left.
    fn settle(&mut self) -> Result<(), NoProgress> {
        let (now, mut turns) = (self.clock.now(), 0);
        self.take_changes();
        self.wake(now);
        while let Some(id) = self.schedule.next_ready() {
            if turns == self.schedule.turns_per_moment_max() {
                let actor = self.schedule.name(id).unwrap_or_default().to_owned();
                return Err(NoProgress { actor, turns });
            }
            turns += 1;
            self.turn(id, now);
            self.wake(now);
        }
        Ok(())
    }

    fn wake(&mut self, now: Time) {
        while let Some(id) = self.schedule.next_retry(now) {
            self.send(id, now);
        }
        self.schedule.wake(now);
    }

    fn turn(&mut self, id: ActorId, now: Time) {
        let surroundings = Surroundings { view: &self.view, alerts: &[], counters: &[], now };
        let Some(turn) = self.schedule.turn(id, surroundings) else { return };
        self.schedule.queue(id, turn.writes);
        self.send(id, now);
        self.schedule.wake_at(id, turn.wake_at);
        for effect in turn.effects {
            self.effect(id, effect);
        }
    }

    fn send(&mut self, id: ActorId, now: Time) {
        while let Some(Request { agent, identity, write, .. }) = self.schedule.next_request(id, now) {
            let outcome = self.feed.shared().write_by(&agent, &write, &identity, now).map(without_owners);
            self.take_changes();
            self.schedule.answer(id, write, outcome, now);
        }
    }

    fn take_changes(&mut self) {
        for change in self.feed.changes(&self.view) {
            self.view.apply(&change);
            self.schedule.deliver(&change);
        }
    }

    /// Containers just run until their kubelet ends them. There are no machines, and no programs in
    /// containers.
    fn effect(&mut self, id: ActorId, effect: Effect) {
        match effect {
            Effect::Start { pod, container } => {
                self.containers.insert((pod, container), id);
            }
            Effect::Terminate { pod } | Effect::Kill { pod } => {
                let of_pod = |(owner, _): &&(Key, String)| *owner == pod;
                let ended: Vec<_> = self.containers.keys().filter(of_pod).cloned().collect();
                for place in ended {
                    let Some(kubelet) = self.containers.remove(&place) else { continue };
                    let (pod, container) = place;
                    self.schedule.signal(kubelet, Signal::Exited { pod, container, code: 0 });
                }
            }
            _ => {}
        }
    }
}
