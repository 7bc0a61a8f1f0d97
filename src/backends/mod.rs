//! "Give me a cluster": where a run takes place, the way into it, and what is left behind: nothing.

mod cleanup;
pub mod in_process;
#[cfg(feature = "live")]
pub mod kubeconfig;
#[cfg(feature = "live")]
mod remote;
#[cfg(all(feature = "live", feature = "serve"))]
pub mod served;
#[cfg(feature = "live")]
pub mod tools;

use std::sync::Arc;

use tokio::sync::watch;
pub use windtunnel_apiserver::{Answered, Asked, Upstream};

pub use cleanup::{Cleanups, Guard, Stop};
#[cfg(feature = "live")]
pub use remote::{RUN, SIMULATED};

use windtunnel_core::clock::{Clock, Time, VirtualClock};
use windtunnel_core::requests::faults::{RequestFault, Requests};
use windtunnel_core::{Change, Identity, Object, Refusal, View, Write};

use crate::record::{Secrets, WriteEvent};

/// The one way into a cluster. Whatever the engine, its actors and its expectations know or do goes through here.
pub trait Door: Send {
    /// Makes a request of the component `by`, its user agent, as `who`, and gives the API server's answer.
    ///
    /// # Errors
    /// The API server's refusal.
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Refusal>;

    /// Has the API server answer chosen requests with trouble.
    fn fail(&mut self, fault: RequestFault);

    /// Has it answer these requests as it should again, or all (`None`).
    fn heal(&mut self, requests: Option<&Requests>);

    /// What changed since the last call, in the order of the API server's revisions. `known` is what the changes of
    /// all calls before have led to: where the API server's history does not reach back to the last call, the changes
    /// are what differs from it, deletions first.
    fn changes(&mut self, known: &View) -> Vec<Change>;

    /// Rolls the kube-apiserver to Kubernetes 1.`minor`.
    ///
    /// # Errors
    /// That cannot be, and the one that is there behaves otherwise.
    fn serve_kubernetes(&mut self, minor: u32) -> Result<(), String>;

    /// What kube clients asked to change since the last call, with the answers and when, for the record.
    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)>;

    /// How many requests kube clients have made so far, reads as well.
    fn client_requests(&self) -> u64;

    /// Tells of writes from now on, through whichever door: the receiver's value changes with each.
    fn subscribe(&self) -> watch::Receiver<u64>;

    /// A kube client that acts as `who`, for controllers that run beside the engine.
    fn client(&self, who: &Identity) -> kube::Client;

    /// What the cluster can do.
    fn capabilities(&self) -> Capabilities;

    /// Has this answer what clients ask of pods through the API server. Servers that are not ours ask real pods.
    fn answer_behind(&mut self, _: Arc<dyn Upstream>) {}

    /// A copy of the API server with all that is in it, for a simulation of its own with this clock; `None` where there is none to
    /// be had.
    fn copied(&self, _: Arc<dyn Clock>) -> Option<Box<dyn Door>> {
        None
    }

    /// Why the cluster is out of reach for good; `None`: it is not.
    fn lost(&self) -> Option<&str> {
        None
    }

    /// What the run may not print of the cluster's secrets; `None`: there is nothing to keep from anybody.
    fn secrets(&self) -> Option<&Secrets> {
        None
    }

    /// What cluster time must wait for; `None`: for nothing.
    fn pace(&self) -> Option<Arc<dyn Pace>> {
        None
    }
}

/// What cluster time must wait for on the wall's clock.
pub trait Pace: Send + Sync {
    /// Blocks until cluster time may pass, and tells up to when, at most `until`.
    fn hold(&self, now: Time, until: Time) -> Time;
}

/// What a kind of cluster can do. A step that needs more is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Capabilities {
    /// Hours pass in no time; else as fast as the run was told.
    pub virtual_time: bool,
    /// Its API server can be told to answer requests with trouble.
    pub request_faults: bool,
    /// Its API server can be rolled to any Kubernetes minor.
    pub any_kubernetes: bool,
    /// It has nodes of its own, with kubelets that run containers.
    pub real_kubelets: bool,
    /// It has the controllers of Kubernetes, so that simulated ones must not run beside them.
    pub controllers: bool,
    /// How many times as fast as the wall's its time passes, in whole numbers; 1 where time is virtual.
    pub speed: i32,
}

impl Capabilities {
    /// What API servers of our own can do.
    pub(crate) const OURS: Self = Self {
        virtual_time: true,
        request_faults: true,
        any_kubernetes: true,
        real_kubelets: false,
        controllers: false,
        speed: 1,
    };
}

/// What a run needs of its cluster.
#[derive(Debug, Clone)]
pub struct Order {
    /// The Kubernetes minor that is to be served, as far as that can be chosen.
    pub minor: u32,
    /// Seed of everything that is drawn at random in the cluster.
    pub seed: u64,
    /// The clock of the run.
    pub clock: Arc<VirtualClock>,
}

/// A place for runs.
pub trait Backend: Send + Sync {
    /// A cluster for one run. It is as if it had never been once the door is dropped.
    ///
    /// # Errors
    /// Why there is none.
    fn open(&self, order: &Order) -> Result<Box<dyn Door>, BackendError>;

    /// What the clock of a run shows when its cluster is installed; `None`: whatever the run likes.
    fn epoch(&self) -> Option<Time> {
        None
    }

    /// Whether a cluster that is installed by the same plan and seed is always the same, so that one may go on from a copy of
    /// another ([`Door::copied`]).
    fn is_always_the_same(&self) -> bool {
        false
    }

    /// How many runs it can hold at a time.
    fn runs_at_a_time(&self) -> usize {
        usize::MAX
    }
}

/// Why there is no cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// It is there, but is not touched: it may be somebody's.
    #[error("{0}")]
    Refused(String),
    /// What is needed to make it is not there; says how to get it.
    #[error("{0}")]
    Missing(String),
    /// It could not be made, or reached.
    #[error("{0}")]
    Failed(String),
}

/// Tells people what is going on, a line at a time.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;
