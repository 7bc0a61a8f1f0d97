//! Programs in Rust as parts of the cluster: each is a task of the session's runtime with a kube client, so that its timers
//! fire in cluster time.
//!
//! `crates/apiserver/src/service/arrivals.rs` orders the requests of one moment. Clusters with such programs start from
//! no snapshot.

mod ends;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::JoinSet;
use windtunnel_core::Identity;
use windtunnel_openshift::environment::ContainerPlace;

pub(in crate::engine) use self::ends::{End, Ends, Reason};

/// A running program. Its output is its failure, if it returns at all.
pub type ProgramFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Starts a program with the client of its identity.
pub type StartProgram = Arc<dyn Fn(kube::Client) -> ProgramFuture + Send + Sync>;

/// A program in Rust.
#[derive(Clone)]
pub struct EmbeddedProgram {
    /// Its name in messages, and the user agent of its client.
    pub name: String,
    /// Its place in the cluster.
    pub place: EmbeddedPlace,
    /// Starts it: once beside the cluster, and at each start of its container.
    pub start: StartProgram,
}

impl fmt::Debug for EmbeddedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, place, .. } = self;
        f.debug_struct("EmbeddedProgram").field("name", name).field("place", place).finish_non_exhaustive()
    }
}

/// The place of a program in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddedPlace {
    /// Beside the cluster with this identity, from the start of the run on.
    Beside(Identity),
    /// In these containers, with the identity of the pod's ServiceAccount.
    In(ContainerPlace),
}

/// The programs of a cluster.
#[derive(Debug, Default)]
pub(in crate::engine) struct Embedded {
    programs: Arc<[EmbeddedProgram]>,
    /// Those beside the cluster that run. They end with the cluster.
    beside: JoinSet<()>,
    ends: Arc<Ends>,
}

impl Embedded {
    pub(in crate::engine) fn new(programs: Vec<EmbeddedProgram>) -> Self {
        Self { programs: programs.into(), ..Self::default() }
    }

    /// The same programs for a copy of the cluster, in which none of them runs yet.
    pub(in crate::engine) fn copied(&self) -> Self {
        Self { programs: Arc::clone(&self.programs), ..Self::default() }
    }

    /// The programs.
    pub(in crate::engine) fn programs(&self) -> Arc<[EmbeddedProgram]> {
        Arc::clone(&self.programs)
    }

    /// Runs a program beside the cluster.
    pub(in crate::engine) fn spawn_beside(&mut self, run: impl Future<Output = ()> + Send + 'static) {
        self.beside.spawn(run);
    }

    /// The ends of programs.
    pub(in crate::engine) fn ends(&self) -> &Arc<Ends> {
        &self.ends
    }

    /// Waits until a program ends.
    pub(in crate::engine) async fn ended(&self) {
        self.ends.wait().await;
    }
}
