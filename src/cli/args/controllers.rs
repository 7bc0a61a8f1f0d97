//! The names of the controllers and simulated components that run next to a plain API server.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use windtunnel_core::text::did_you_mean;
use windtunnel_openshift::environment::is_named;

use crate::engine;

/// A controller, by its name in kube-controller-manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Controller {
    /// Every controller below.
    All,
    /// Signs approved CertificateSigningRequests of the signers that are Kubernetes' own.
    #[value(name = "certificatesigningrequest-signing-controller")]
    CertificateSigning,
    /// Creates the Jobs of CronJobs by their schedules.
    #[value(name = "cronjob-controller")]
    CronJobs,
    /// Creates the pods of DaemonSets, one per node.
    #[value(name = "daemonset-controller")]
    DaemonSets,
    /// Creates and scales the ReplicaSets of Deployments.
    #[value(name = "deployment-controller")]
    Deployments,
    /// Computes the allowed disruptions of PodDisruptionBudgets, which limit evictions.
    #[value(name = "disruption-controller")]
    Disruption,
    /// Creates the Endpoints of Services.
    #[value(name = "endpoints-controller")]
    Endpoints,
    /// Creates the EndpointSlices of Services.
    #[value(name = "endpointslice-controller")]
    EndpointSlices,
    /// Deletes dependents of deleted owners, or orphans them.
    #[value(name = "garbage-collector-controller")]
    GarbageCollector,
    /// Keeps workloads within the bounds of their HorizontalPodAutoscalers. There are no metrics.
    #[value(name = "horizontal-pod-autoscaler-controller")]
    Autoscalers,
    /// Creates the pods of Jobs, enforces limits, and sets conditions.
    #[value(name = "job-controller")]
    Jobs,
    /// Binds pods to nodes (a separate program in a real cluster).
    #[value(name = "kube-scheduler")]
    Scheduler,
    /// Deletes the contents of deleted namespaces.
    #[value(name = "namespace-controller")]
    Namespaces,
    /// Taints unhealthy or silent nodes, and evicts pods without a toleration.
    #[value(name = "node-lifecycle-controller")]
    NodeLifecycle,
    /// Lets a deleted PersistentVolume go when it is no longer bound.
    #[value(name = "persistentvolume-protection-controller")]
    VolumeProtection,
    /// Lets a deleted PersistentVolumeClaim go when no pod uses it.
    #[value(name = "persistentvolumeclaim-protection-controller")]
    ClaimProtection,
    /// Deletes the pods of deleted nodes.
    #[value(name = "pod-garbage-collector-controller")]
    PodGarbageCollector,
    /// Creates and deletes the pods of ReplicaSets.
    #[value(name = "replicaset-controller")]
    ReplicaSets,
    /// Creates and deletes the pods of ReplicationControllers.
    #[value(name = "replicationcontroller-controller")]
    ReplicationControllers,
    /// Writes the limits and the usage to the status of ResourceQuotas. Quotas limit nothing without it.
    #[value(name = "resourcequota-controller")]
    ResourceQuotas,
    /// Creates the ConfigMap `kube-root-ca.crt` in each namespace.
    #[value(name = "root-ca-certificate-publisher-controller")]
    RootCertificatePublisher,
    /// Creates the ServiceAccount `default` in each namespace.
    #[value(name = "serviceaccount-controller")]
    ServiceAccounts,
    /// Creates the pods and claims of StatefulSets in order, and replaces them when the template changes.
    #[value(name = "statefulset-controller")]
    StatefulSets,
    /// Deletes finished Jobs after their TTL.
    #[value(name = "ttl-after-finished-controller")]
    TtlAfterFinished,
    /// Warns in the status of ValidatingAdmissionPolicies about wrong types in their expressions.
    #[value(name = "validatingadmissionpolicy-status-controller")]
    PolicyStatus,
}

/// A controller of Kubernetes, or a simulated component of OpenShift or of machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Selected {
    /// A controller of Kubernetes, or all of them.
    Kubernetes(Controller),
    /// The simulated component with this name.
    Component(String),
}

impl Selected {
    /// Parses a name.
    ///
    /// # Errors
    /// There is no controller and no component of this name.
    pub(in crate::cli) fn parse(name: &str) -> Result<Self, String> {
        if let Ok(controller) = Controller::from_str(name, false) {
            return Ok(Self::Kubernetes(controller));
        }
        let components = engine::component_names();
        // A name may also be that of one controller of a component, whose releases are known later.
        if components.iter().any(|known| is_named(known, name) || is_named(name, known)) {
            return Ok(Self::Component(name.to_owned()));
        }
        let known = Controller::value_variants().iter().map(|one| one.name());
        let known: Vec<String> = known.chain(components).collect();
        let nearest = did_you_mean(name, known.iter().map(String::as_str));
        Err(format!("unknown controller `{name}`{nearest}"))
    }

    /// Returns the name as on the command line.
    pub(in crate::cli) fn name(&self) -> String {
        match self {
            Self::Kubernetes(controller) => controller.name(),
            Self::Component(name) => name.clone(),
        }
    }
}

impl Controller {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The components that completions and the help list, besides the operators (`operator/etcd`).
const COMPONENTS: [&str; 6] = [
    "cluster-version-operator",
    "kubelet",
    "machine-config-controller",
    "machine-config-daemon",
    "machine-config-operator",
    "update-status-controller",
];

/// Parses `--controllers`.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct SelectedParser;

impl TypedValueParser for SelectedParser {
    type Value = Selected;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Selected, clap::Error> {
        let name = value.to_string_lossy();
        Selected::parse(&name).map_err(|why| {
            let flag = argument.map(ToString::to_string).unwrap_or_default();
            let text = format!("invalid value '{name}' for '{flag}': {why}\n");
            clap::Error::raw(ErrorKind::InvalidValue, text).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let controllers = Controller::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let components = COMPONENTS.into_iter().map(PossibleValue::new);
        Some(Box::new(controllers.chain(components)))
    }
}
