//! Clusters for runs (`--backend`): in process, served, in containers, on kind and k3d, by kubeconfig; the connection
//! to them, and their cleanup.
//!
//! [`Backend`] provides clusters, [`ClusterConnection`] is the connection of the engine to one, and [`Capabilities`]
//! say which steps it can run. A new backend also needs its word in `src/cli/args/place.rs` and `src/cli/backend.rs`,
//! and a row in `docs/live.md`.
//!
//! * `in_process.rs`: an API server in this process, the default
//! * `served.rs`: windtunnel behind HTTPS; `remote/` has the connection to any API server
//! * `tools/`: kind, k3d and Docker; `kubeconfig.rs` any other cluster
//! * `programs/`: processes of the user beside a cluster, and the clock that waits for them
//! * `rights.rs`: the rights that programs use, for records
//! * `cleanup.rs`: the removal of what a run created

mod cleanup;
pub mod in_process;
#[cfg(feature = "live")]
pub mod kubeconfig;
pub mod programs;
#[cfg(feature = "live")]
mod remote;
mod rights;
#[cfg(all(feature = "live", feature = "serve"))]
pub mod served;
#[cfg(feature = "live")]
pub mod tools;

use std::sync::Arc;

use tokio::sync::watch;
pub use windtunnel_apiserver::{
    ClientRead, LogRequest, PathRequest, Permission, PodRequest, PodResponse, Upstream,
};

pub use cleanup::{Cleanups, Guard, Stop};
#[cfg(feature = "live")]
pub use remote::{RUN, SIMULATED};

use windtunnel_core::clock::{Clock, Time, VirtualClock};
use windtunnel_core::requests::faults::{RequestFault, RequestFilter};
use windtunnel_core::{Change, Identity, Object, Rejection, View, Write};

use crate::record::{Secrets, UserRights, WriteEvent};

/// The reason of a run that an interrupt ended.
pub(crate) const INTERRUPTED: &str = "the run was interrupted";

/// The connection to a cluster. The engine, its actors and its expectations use the cluster only through it.
pub trait ClusterConnection: Send {
    /// Sends a write of the component `by` (its user agent) as user `who`, and returns the API server's
    /// answer.
    ///
    /// # Errors
    /// The API server's rejection.
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Rejection>;

    /// Stores objects of another cluster as they are, past admission. Webhooks are assumed to allow every request while their
    /// Services have ready endpoints.
    ///
    /// # Errors
    /// The first object that the API server does not store, with the reason; servers of other programs take no object over.
    fn take_over(&mut self, objects: &[Object], now: Time) -> Result<(), String> {
        let _ = (objects, now);
        Err("this cluster cannot take objects of another one over".to_owned())
    }

    /// Makes the API server fail certain requests.
    fn fail(&mut self, fault: RequestFault);

    /// As [`ClusterConnection::fail`], for a fault that began at this resource version. Servers of other programs ignore it.
    fn fail_since(&mut self, fault: RequestFault, revision: u64) {
        let _ = revision;
        self.fail(fault);
    }

    /// Makes the API server time out without a quorum of etcd. Servers of other programs ignore it.
    fn set_quorum(&mut self, has_quorum: bool) {
        let _ = has_quorum;
    }

    /// Ends the failures of these requests, or of all (`None`).
    fn heal(&mut self, requests: Option<&RequestFilter>);

    /// Returns the changes since the last call, in the order of resource versions. `known` is the state after
    /// all previous changes. If the API server's history does not reach back to the last call, the changes
    /// are the difference to `known`, deletions first.
    fn changes(&mut self, known: &View) -> Vec<Change>;

    /// Updates the kube-apiserver to Kubernetes 1.`minor`.
    ///
    /// # Errors
    /// The server cannot change its version, and its own behaves differently.
    fn serve_kubernetes(&mut self, minor: u32) -> Result<(), String>;

    /// Returns the writes of kube clients since the last call, with answers and times, for the record.
    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)>;

    /// Returns the reads of kube clients since the last call. A server of other programs reports none.
    fn client_reads(&mut self) -> Vec<ClientRead> {
        Vec::new()
    }

    /// Notes from now on which rights the requests of kube clients need. A server of other programs notes nothing.
    fn note_rights(&mut self) {}

    /// Returns the rights that the users of kube clients needed since [`ClusterConnection::note_rights`], by user.
    fn rights(&mut self) -> Vec<UserRights> {
        Vec::new()
    }

    /// Returns the number of requests by kube clients so far, including reads.
    fn client_requests(&self) -> u64;

    /// Notifies of future writes by any client: the receiver's value changes with each.
    fn subscribe(&self) -> watch::Receiver<u64>;

    /// Returns a kube client that acts as `who`, for controllers that the engine does not run.
    fn client(&self, who: &Identity) -> kube::Client;

    /// As [`ClusterConnection::client`], for a program with this name, which is its user agent. Requests that several
    /// such clients make at one moment are answered in a fixed order where the server can do so.
    fn named_client(&self, who: &Identity, name: &str) -> kube::Client {
        let _ = name;
        self.client(who)
    }

    /// Returns the capabilities of the cluster.
    fn capabilities(&self) -> Capabilities;

    /// The Kubernetes minor (1.x) of an API server that stays at it; `None` if it follows the scenario.
    fn fixed_kubernetes(&self) -> Option<u32> {
        None
    }

    /// Makes the API server forward requests to pods, such as logs, to this upstream. Servers of other
    /// programs ask real pods.
    fn set_upstream(&mut self, _: Arc<dyn Upstream>) {}

    /// Returns a copy of the API server with all objects, for a separate simulation with this clock; `None`
    /// if the backend cannot copy.
    fn fork(&self, _: Arc<dyn Clock>) -> Option<Box<dyn ClusterConnection>> {
        None
    }

    /// Returns why the cluster is permanently unreachable; `None` if it is not.
    fn lost(&self) -> Option<&str> {
        None
    }

    /// Returns the values of Secrets that the connection sees before the run does; `None` if there are none.
    fn secrets(&self) -> Option<Arc<Secrets>> {
        None
    }

    /// Returns what starts programs of this machine as parts of the cluster; `None` if the backend cannot.
    fn programs(&self) -> Option<Arc<dyn programs::Programs>> {
        None
    }

    /// Returns the limiter of cluster time; `None` if there is no limit.
    fn pace(&self) -> Option<Arc<dyn Pace>> {
        None
    }
}

/// Limits cluster time by events on the wall clock.
pub trait Pace: Send + Sync {
    /// Blocks until cluster time may advance, and returns the new time, at most `until`.
    fn advance(&self, now: Time, until: Time) -> Time;

    /// Whether the run must end now, before its timeline does.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The capabilities of a kind of cluster. Steps that need others are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Capabilities {
    /// Cluster time is independent of the wall clock; otherwise it follows the wall clock with the run's
    /// speed.
    pub virtual_time: bool,
    /// Its API server can fail requests on demand.
    pub request_faults: bool,
    /// Its API server can change to any Kubernetes minor.
    pub any_kubernetes: bool,
    /// It has nodes of its own, with kubelets that run containers.
    pub real_kubelets: bool,
    /// It has the Kubernetes controllers, so that the simulation must not run its own.
    pub controllers: bool,
    /// The speed of its clock as a whole multiple of the wall clock; 1 if time is virtual.
    pub speed: i32,
}

impl Capabilities {
    /// The capabilities of windtunnel's own API server.
    pub(crate) const OURS: Self = Self {
        virtual_time: true,
        request_faults: true,
        any_kubernetes: true,
        real_kubelets: false,
        controllers: false,
        speed: 1,
    };
}

/// The requirements of a run for its cluster.
#[derive(Debug, Clone)]
pub struct Order {
    /// The Kubernetes minor to serve, if the backend can choose it.
    pub minor: u32,
    /// The seed of all random values in the cluster.
    pub seed: u64,
    /// The clock of the run.
    pub clock: Arc<VirtualClock>,
    /// The flag that ends a run which follows the clock of this machine.
    pub stop: Stop,
}

/// A provider of clusters for runs.
pub trait Backend: Send + Sync {
    /// Opens a cluster for one run. Dropping the connection removes all traces of it.
    ///
    /// # Errors
    /// The reason why there is no cluster.
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError>;

    /// Returns the time of the run's clock when its cluster is installed; `None` lets the run choose.
    fn epoch(&self) -> Option<Time> {
        None
    }

    /// Returns the flag that ends runs early. By default nothing sets it.
    fn stop(&self) -> Stop {
        Stop::default()
    }

    /// Returns whether installing the same plan with the same seed always gives the same cluster, so that
    /// runs may start from a copy ([`ClusterConnection::fork`]).
    fn is_always_the_same(&self) -> bool {
        false
    }

    /// Returns the maximum number of concurrent runs.
    fn runs_at_a_time(&self) -> usize {
        usize::MAX
    }
}

/// The reason why there is no cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The cluster exists, but windtunnel must not use it.
    #[error("{0}")]
    Refused(String),
    /// A program is missing; the text says how to get it.
    #[error("{0}")]
    Missing(String),
    /// The cluster could not be created or reached.
    #[error("{0}")]
    Failed(String),
}

/// Reports progress to the user, one line at a time.
pub type ReportProgress = Arc<dyn Fn(&str) + Send + Sync>;
