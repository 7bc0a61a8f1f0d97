//! The names of the Kubernetes controllers that run next to a plain API server.

use clap::ValueEnum;

/// A controller, by its name in kube-controller-manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Controller {
    /// Every controller below.
    All,
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

/// Returns the names of controllers as on the command line.
pub(in crate::cli) fn names(controllers: &[Controller]) -> Vec<String> {
    let values = controllers.iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}
