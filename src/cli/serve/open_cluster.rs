//! The API server of a simulated cluster, which programs of this machine reach if its plan has any.

use std::sync::Arc;

use windtunnel_apiserver::service::Shared;

use super::clock::ClusterClock;
use crate::backends::in_process::InProcess;
#[cfg(unix)]
use crate::backends::programs::ServedPrograms;
use crate::backends::{BackendError, ClusterConnection, Order};
use crate::plan::ClusterPlan;

/// The API server of a cluster, before its clock is known.
pub(super) struct OpenCluster {
    shared: Shared,
    #[cfg(unix)]
    programs: Option<ServedPrograms>,
}

impl OpenCluster {
    /// Opens a cluster. `key` (PEM) is that of the authority that signs the certificates of its servers.
    ///
    /// # Errors
    /// The server for programs cannot start.
    pub(super) fn open(
        plan: &ClusterPlan,
        order: &Order,
        key: &str,
    ) -> Result<(Box<dyn ClusterConnection>, Self), BackendError> {
        #[cfg(unix)]
        if !plan.programs.is_empty() {
            let (connection, programs) = ServedPrograms::open(order, key)?;
            let shared = programs.shared().clone();
            return Ok((connection, Self { shared, programs: Some(programs) }));
        }
        #[cfg(not(unix))]
        let _ = (plan, key);
        let connection = InProcess::served(order.minor, order.seed, order.clock.clone());
        let shared = connection.shared().clone();
        let cluster = Self {
            shared,
            #[cfg(unix)]
            programs: None,
        };
        Ok((Box::new(connection), cluster))
    }

    /// Whether the cluster has programs.
    pub(super) fn has_programs(&self) -> bool {
        #[cfg(unix)]
        return self.programs.is_some();
        #[cfg(not(unix))]
        false
    }

    /// Lets clients and programs see this clock. Returns the server for clients.
    pub(super) fn serve(self, clock: &Arc<ClusterClock>) -> Shared {
        #[cfg(unix)]
        if let Some(programs) = self.programs {
            programs.serve(clock.clone());
        }
        self.shared.with_clock(clock.clone())
    }
}
