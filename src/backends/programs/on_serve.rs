//! Programs in a cluster that `windtunnel serve` serves: its clock never waits for them.

use std::sync::Arc;

use windtunnel_apiserver::https::Authority;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::Clock;

use super::host::ProgramHost;
use super::hosted::Hosted;
use super::late_clock::LateClock;
use crate::backends::{BackendError, ClusterConnection, Order};

/// The programs of a served cluster. They reach it only after its installation.
pub struct ServedPrograms {
    host: Arc<ProgramHost>,
    clock: Arc<LateClock>,
}

impl ServedPrograms {
    /// Opens a cluster for programs, with an HTTPS server of their own for which the authority with
    /// this key (PEM) signs.
    ///
    /// # Errors
    /// The key is invalid, the server cannot listen, or no folder for files can be created.
    pub fn open(order: &Order, key: &str) -> Result<(Box<dyn ClusterConnection>, Self), BackendError> {
        let authority =
            Authority::from_key_pem(key).map_err(|error| BackendError::Failed(error.to_string()))?;
        let cluster = Hosted::cluster(order);
        let clock = LateClock::standing_at(cluster.shared().now());
        let mut host = ProgramHost::new(cluster.shared(), Arc::clone(&clock) as _, authority)?;
        host.follow_clock();
        let host = Arc::new(host);
        let connection = Hosted::with_parts(cluster, Arc::clone(&host), None, order);
        Ok((Box::new(connection), Self { host, clock }))
    }

    /// Returns the server of the cluster.
    pub fn shared(&self) -> &Shared {
        &self.host.server
    }

    /// Serves the programs from now on, with the time of this clock.
    pub fn serve(&self, clock: Arc<dyn Clock>) {
        self.clock.follow(clock);
        self.host.gate.open();
    }
}
