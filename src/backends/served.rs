//! windtunnel's own API server behind HTTPS: the run reaches it over a socket, and it uses the clock of the
//! run.

use std::sync::Arc;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use windtunnel_apiserver::https::{self, Serving, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, ManualClock};
use windtunnel_core::requests::faults::{RequestFault, RequestFilter};

use super::in_process::{Clients, server};
use super::remote::{Link, OwnServer, Remote, Stamp, Terms, Wire};
use super::{Backend, BackendError, Capabilities, ClusterConnection, Order, Stop};

/// A backend with a server on its own port for each run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Served;

impl OwnServer for Shared {
    fn fail(&mut self, fault: RequestFault) {
        self.with(|server| server.fail(fault));
    }

    fn heal(&mut self, requests: Option<&RequestFilter>) {
        self.with(|server| server.heal(requests));
    }

    fn serve_kubernetes(&mut self, minor: u32) {
        self.with(|server| server.set_kubernetes_minor(minor));
    }
}

/// Serves on any free port, and returns the settings to connect.
async fn serve(shared: Shared) -> Result<(Serving, Config), BackendError> {
    let failed = |error: &dyn std::fmt::Display| BackendError::Failed(error.to_string());
    let serving = https::serve(shared, Settings::default()).await.map_err(|error| failed(&error))?;
    let kubeconfig = Kubeconfig::from_yaml(&serving.kubeconfig()).map_err(|error| failed(&error))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Ok((serving, config.map_err(|error| failed(&error))?))
}

impl Backend for Served {
    fn open(&self, order: &Order) -> Result<Box<dyn ClusterConnection>, BackendError> {
        let clock = ManualClock::at(order.clock.now());
        let shared = Shared::new(server(order.minor, order.seed, clock.now(), Clients::Any), clock.clone());
        let threads = Wire::threads()?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let served = shared.clone();
        threads.spawn(async move {
            // The server is dropped if the caller has stopped waiting.
            let _ = sender.send(serve(served).await);
        });
        let failed = |error: &dyn std::fmt::Display| BackendError::Failed(error.to_string());
        let (serving, config) = receiver.recv().map_err(|error| failed(&error))??;
        let wire = Arc::new(Wire::new(threads, config, None, Stop::default())?);
        let (link, inbox) = Link::new(wire, Stamp::default(), Some(clock));
        let terms = Terms {
            clock: order.clock.clone(),
            speed: None,
            capabilities: Capabilities::OURS,
            own_server: Some(Box::new(shared)),
            end: Box::new(serving),
        };
        let remote = Remote::open(link, inbox, terms).map_err(|rejection| failed(&rejection))?;
        Ok(Box::new(remote))
    }
}
