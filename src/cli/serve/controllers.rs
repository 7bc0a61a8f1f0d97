//! Kubernetes controllers that run next to a plain API server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use windtunnel_apiserver::https::{Authority, SigningError};
use windtunnel_apiserver::service::Shared;
use windtunnel_controllers::certificate_signing::{CertificateSigner, CertificateSigningController};
use windtunnel_controllers::cleanup::garbage_collector::GarbageCollector;
use windtunnel_controllers::cleanup::namespaces::NamespaceController;
use windtunnel_controllers::cleanup::pod_gc::PodGarbageCollector;
use windtunnel_controllers::cleanup::volume_protection::VolumeProtectionController;
use windtunnel_controllers::endpoints::{EndpointSliceController, EndpointsController};
use windtunnel_controllers::node_lifecycle::NodeLifecycleController;
use windtunnel_controllers::policy_status::PolicyStatusController;
use windtunnel_controllers::resource_quota::ResourceQuotaController;
use windtunnel_controllers::scheduler::Scheduler;
use windtunnel_controllers::service_accounts::{RootCaPublisher, ServiceAccountsController};
use windtunnel_controllers::workloads::autoscaling::AutoscalerController;
use windtunnel_controllers::workloads::cron_jobs::CronJobController;
use windtunnel_controllers::workloads::daemon_sets::DaemonSetController;
use windtunnel_controllers::workloads::deployments::DeploymentController;
use windtunnel_controllers::workloads::disruption::DisruptionController;
use windtunnel_controllers::workloads::jobs::JobController;
use windtunnel_controllers::workloads::replica_sets::ReplicaSetController;
use windtunnel_controllers::workloads::stateful_sets::StatefulSetController;
use windtunnel_controllers::workloads::ttl_after_finished::TtlAfterFinishedController;
use windtunnel_controllers::{Actor, ControllerVersion, runner};
use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::rng::Streams;

use crate::cli::args::controllers::{Controller, Selected};
use crate::cli::output::Shown as _;
use crate::cli::{files, print_errors};

/// The pause before controllers restart after a failure.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// The properties of the API server that controllers need.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ServerProperties {
    /// The minor of its Kubernetes version.
    pub(in crate::cli) minor: u32,
    /// The authority of its certificate, as PEM.
    pub(in crate::cli) authority: String,
    /// The authority that signs requests for certificates.
    pub(in crate::cli) signer: Arc<Authority>,
}

/// Signs with the key of an authority. A request that fails for another reason than its content is not tried again.
#[derive(Debug)]
pub(super) struct Signer(pub(super) Arc<Authority>);

impl CertificateSigner for Signer {
    fn sign(&self, request: &Object, now: Time) -> Result<Option<String>, String> {
        let signed = self.0.sign(request, now);
        signed.map(|pem| pem.map(|pem| STANDARD.encode(pem))).or_else(|error| match error {
            SigningError::Rejected(why) => Err(why),
            SigningError::Failed(why) => {
                print_errors(&format!("cannot sign {}: {why}", request.name()));
                Ok(None)
            }
        })
    }
}

impl Controller {
    /// Returns the controller; `None` for `All`.
    fn actor(self, shared: &Shared, properties: &ServerProperties) -> Option<Box<dyn Actor>> {
        // Random values only affect the delays of simulated programs, and a plain API server has none.
        let streams = Streams::new(0);
        let version = ControllerVersion::fixed(properties.minor);
        Some(match self {
            Self::All => return None,
            Self::DaemonSets => Box::new(DaemonSetController::new(&streams).with_version(version)),
            Self::Deployments => Box::new(DeploymentController::new(&streams).with_version(version)),
            Self::Disruption => Box::new(DisruptionController::new().with_version(version)),
            Self::Endpoints => Box::new(EndpointsController::new()),
            Self::EndpointSlices => Box::new(EndpointSliceController::new()),
            Self::GarbageCollector => Box::new(GarbageCollector::new()),
            Self::CronJobs => Box::new(CronJobController::new().with_version(version)),
            Self::Autoscalers => Box::new(AutoscalerController::new().with_version(version)),
            Self::Jobs => Box::new(JobController::with_minor(properties.minor)),
            Self::CertificateSigning => {
                let signer = Signer(Arc::clone(&properties.signer));
                Box::new(CertificateSigningController::new(Arc::new(signer)))
            }
            Self::ClaimProtection => Box::new(VolumeProtectionController::of_claims()),
            Self::VolumeProtection => Box::new(VolumeProtectionController::of_volumes()),
            Self::Scheduler => Box::new(Scheduler::new().with_version(version)),
            Self::Namespaces => Box::new(NamespaceController::new()),
            Self::NodeLifecycle => {
                Box::new(NodeLifecycleController::new().with_version(version).with_leases())
            }
            Self::PodGarbageCollector => Box::new(PodGarbageCollector::new()),
            Self::PolicyStatus => Box::new(PolicyStatusController::new(Arc::new(shared.clone()))),
            Self::ReplicaSets => Box::new(ReplicaSetController::new().with_version(version)),
            Self::ReplicationControllers => {
                Box::new(ReplicaSetController::for_replication_controllers().with_version(version))
            }
            Self::ResourceQuotas => Box::new(ResourceQuotaController::new()),
            Self::RootCertificatePublisher => Box::new(RootCaPublisher::new(properties.authority.clone())),
            Self::ServiceAccounts => Box::new(ServiceAccountsController::new()),
            Self::StatefulSets => Box::new(StatefulSetController::new().with_version(version)),
            Self::TtlAfterFinished => Box::new(TtlAfterFinishedController::new()),
        })
    }
}

/// Returns the selected controllers, each once.
pub(super) fn selected_actors(
    controllers: &[Controller],
    shared: &Shared,
    properties: &ServerProperties,
) -> Vec<Box<dyn Actor>> {
    let is_selected =
        |controller: &&Controller| controllers.contains(&Controller::All) || controllers.contains(controller);
    let each = Controller::value_variants().iter().filter(is_selected);
    each.filter_map(|controller| controller.actor(shared, properties)).collect()
}

/// Parses a file with the name of a controller in each line.
///
/// # Errors
/// The file cannot be read, or a line contains no known name.
pub(in crate::cli) fn read(path: &Path) -> Result<Vec<Selected>, String> {
    let text = files::read(path)?;
    let named = text.lines().enumerate().map(|(number, line)| {
        Selected::parse(line).map_err(|why| format!("{}:{}:1: {why}", path.shown(), number + 1))
    });
    named.collect()
}

/// Returns the controllers of Kubernetes among the selected ones.
pub(in crate::cli) fn of_kubernetes(selected: &[Selected]) -> Vec<Controller> {
    let controllers = selected.iter().filter_map(|one| match one {
        Selected::Kubernetes(controller) => Some(*controller),
        Selected::Component(_) => None,
    });
    controllers.collect()
}

/// Runs controllers until the task is dropped. Reports an error and restarts them, as kube-controller-manager
/// would, if they make no progress.
pub(in crate::cli) async fn run(shared: Shared, controllers: Vec<Controller>, properties: ServerProperties) {
    if controllers.is_empty() {
        return;
    }
    loop {
        let actors = selected_actors(&controllers, &shared, &properties);
        let why = runner::run(shared.clone(), actors).await;
        print_errors(&why.to_string());
        tokio::time::sleep(RESTART_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_apiserver::ApiServer;
    use windtunnel_core::clock::{Clock as _, WallClock};

    use super::*;

    #[test]
    fn all_selects_the_kubernetes_controllers_and_those_of_a_plain_server() {
        let shared = Shared::new(ApiServer::builder().build(WallClock.now()), Arc::new(WallClock));
        let properties = ServerProperties {
            minor: 33,
            authority: String::new(),
            signer: Arc::new(Authority::generate().unwrap()),
        };
        let signing = CertificateSigningController::new(Arc::new(Signer(Arc::clone(&properties.signer))));
        let names = |actors: Vec<Box<dyn Actor>>| {
            let mut names: Vec<String> = actors.iter().map(|actor| actor.name().to_owned()).collect();
            names.sort_unstable();
            names
        };
        let mut expected = windtunnel_controllers::kubernetes(&Streams::new(1));
        expected.push(Box::new(RootCaPublisher::new("")));
        expected.push(Box::new(ResourceQuotaController::new()));
        expected.push(Box::new(signing));
        expected.push(Box::new(PolicyStatusController::new(Arc::new(shared.clone()))));
        assert_eq!(
            names(selected_actors(&[Controller::All, Controller::Jobs], &shared, &properties)),
            names(expected)
        );
        let two = [Controller::Jobs, Controller::Scheduler, Controller::Jobs];
        assert_eq!(selected_actors(&two, &shared, &properties).len(), 2);
    }
}
