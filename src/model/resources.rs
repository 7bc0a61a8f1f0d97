//! The kinds that simulated components read and write, by their plural.

use serde_json::Value;

use super::Resource;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $scope:ident($group:literal, $version:literal, $kind:literal, $plural:literal);)*) => {
        $($(#[$doc])* pub const $name: Resource = Resource::$scope($group, $version, $kind, $plural);)*
        /// All kinds of this module.
        pub const ALL: &[Resource] = &[$($name),*];
    };
}

kinds! {
    /// What the cluster-version operator keeps: the update requested, and how far it is.
    CLUSTER_VERSIONS = cluster("config.openshift.io", "v1", "ClusterVersion", "clusterversions");
    /// What each operator reports of itself.
    CLUSTER_OPERATORS = cluster("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");
    /// Which feature set the cluster runs with.
    FEATURE_GATES = cluster("config.openshift.io", "v1", "FeatureGate", "featuregates");
    /// Which image signatures the container runtime demands.
    CLUSTER_IMAGE_POLICIES = cluster("config.openshift.io", "v1", "ClusterImagePolicy", "clusterimagepolicies");
    /// What the cluster runs on.
    INFRASTRUCTURES = cluster("config.openshift.io", "v1", "Infrastructure", "infrastructures");
    /// What Prometheus makes alerts of.
    PROMETHEUS_RULES = namespaced("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules");
    /// Schemas of custom resources.
    CUSTOM_RESOURCE_DEFINITIONS =
        cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
    /// How important pods are to one another.
    PRIORITY_CLASSES = cluster("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses");
    /// Machines that run pods.
    NODES = cluster("", "v1", "Node", "nodes");
    /// Where namespaced objects live.
    NAMESPACES = cluster("", "v1", "Namespace", "namespaces");
    /// Groups of containers on a node.
    PODS = namespaced("", "v1", "Pod", "pods");
    /// Plain configuration data.
    CONFIG_MAPS = namespaced("", "v1", "ConfigMap", "configmaps");
    /// Identities of programs.
    SERVICE_ACCOUNTS = namespaced("", "v1", "ServiceAccount", "serviceaccounts");
    /// What happened, for people.
    EVENTS = namespaced("", "v1", "Event", "events");
    /// Pods kept running.
    DEPLOYMENTS = namespaced("apps", "v1", "Deployment", "deployments");
    /// Pods run to their end.
    JOBS = namespaced("batch", "v1", "Job", "jobs");
    /// Who leads.
    LEASES = namespaced("coordination.k8s.io", "v1", "Lease", "leases");
    /// Permissions within a namespace.
    ROLES = namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles");
    /// Who has the permissions of a role.
    ROLE_BINDINGS = namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
    /// Permissions in the whole cluster.
    CLUSTER_ROLES = cluster("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles");
    /// Who has the permissions of a cluster role.
    CLUSTER_ROLE_BINDINGS =
        cluster("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings");
}

/// The kind that objects call by this name in their `kind` field.
pub fn by_kind(kind: &str) -> Option<&'static Resource> {
    ALL.iter().find(|resource| resource.kind == kind)
}

/// The kind of an object.
pub fn of(object: &Value) -> Option<&'static Resource> {
    by_kind(object["kind"].as_str()?)
}
