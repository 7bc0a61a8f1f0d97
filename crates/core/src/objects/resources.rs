//! The kinds that simulated components read and write, by their plural.

use jiff::SignedDuration;
use serde_json::Value;

use crate::Resource;

/// How long the kube-apiservers of OpenShift keep Events (`event-ttl` in their configuration).
pub const EVENT_TTL: SignedDuration = SignedDuration::from_hours(3);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $scope:ident($group:literal, $version:literal, $kind:literal, $plural:literal $(,)?);)*) => {
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
    /// What the update status controller publishes.
    UPDATE_STATUSES = cluster("update.openshift.io", "v1alpha1", "UpdateStatus", "updatestatuses");
    /// Requests to assess an update.
    AGENTIC_RUNS = namespaced("agentic.openshift.io", "v1alpha1", "AgenticRun", "agenticruns");
    /// Which feature set the cluster runs with.
    FEATURE_GATES = cluster("config.openshift.io", "v1", "FeatureGate", "featuregates");
    /// Which image signatures the container runtime demands.
    CLUSTER_IMAGE_POLICIES = cluster("config.openshift.io", "v1", "ClusterImagePolicy", "clusterimagepolicies");
    /// What the cluster runs on.
    INFRASTRUCTURES = cluster("config.openshift.io", "v1", "Infrastructure", "infrastructures");
    /// What the API servers of the cluster have in common.
    API_SERVERS = cluster("config.openshift.io", "v1", "APIServer", "apiservers");
    /// By which proxies the cluster reaches the world.
    PROXIES = cluster("config.openshift.io", "v1", "Proxy", "proxies");
    /// What components ask of the cloud.
    CREDENTIALS_REQUESTS =
        namespaced("cloudcredential.openshift.io", "v1", "CredentialsRequest", "credentialsrequests");
    /// What pods may ask of their nodes.
    SECURITY_CONTEXT_CONSTRAINTS = cluster(
        "security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints"
    );
    /// Where Prometheus finds metrics.
    SERVICE_MONITORS = namespaced("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors");
    /// What Prometheus makes alerts of.
    PROMETHEUS_RULES = namespaced("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules");
    /// What is on the disks of nodes of a role: files, units, the operating system.
    MACHINE_CONFIGS = cluster("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs");
    /// Nodes that are to have the same MachineConfig.
    MACHINE_CONFIG_POOLS =
        cluster("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools");
    /// How far a node is with its MachineConfig.
    MACHINE_CONFIG_NODES =
        cluster("machineconfiguration.openshift.io", "v1", "MachineConfigNode", "machineconfignodes");
    /// What the machine-config operator hands to its controller.
    CONTROLLER_CONFIGS =
        cluster("machineconfiguration.openshift.io", "v1", "ControllerConfig", "controllerconfigs");
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
    /// Pods of one template.
    REPLICA_SETS = namespaced("apps", "v1", "ReplicaSet", "replicasets");
    /// Pods of one template, as they were before ReplicaSets.
    REPLICATION_CONTROLLERS = namespaced("", "v1", "ReplicationController", "replicationcontrollers");
    /// Templates that a DaemonSet or a StatefulSet had.
    CONTROLLER_REVISIONS = namespaced("apps", "v1", "ControllerRevision", "controllerrevisions");
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
    /// Confidential configuration data.
    SECRETS = namespaced("", "v1", "Secret", "secrets");
    /// Names for groups of pods in the network.
    SERVICES = namespaced("", "v1", "Service", "services");
    /// The addresses behind a name, in one object.
    ENDPOINTS = namespaced("", "v1", "Endpoints", "endpoints");
    /// The addresses behind a name.
    ENDPOINT_SLICES = namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");
    /// Pods, one on each node.
    DAEMON_SETS = namespaced("apps", "v1", "DaemonSet", "daemonsets");
    /// Pods with names of their own.
    STATEFUL_SETS = namespaced("apps", "v1", "StatefulSet", "statefulsets");
    /// Jobs at certain times.
    CRON_JOBS = namespaced("batch", "v1", "CronJob", "cronjobs");
    /// How many pods may be evicted at once.
    POD_DISRUPTION_BUDGETS = namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets");
    /// Which pods may talk to which.
    NETWORK_POLICIES = namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies");
    /// Storage that there is.
    PERSISTENT_VOLUMES = cluster("", "v1", "PersistentVolume", "persistentvolumes");
    /// Storage that pods ask for.
    PERSISTENT_VOLUME_CLAIMS = namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
    /// Ways to provide storage.
    STORAGE_CLASSES = cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses");
    /// Drivers of storage.
    CSI_DRIVERS = cluster("storage.k8s.io", "v1", "CSIDriver", "csidrivers");
    /// Ways to run containers.
    RUNTIME_CLASSES = cluster("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses");
    /// API servers behind the API server.
    API_SERVICES = cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices");
    /// Who is asked before a write.
    VALIDATING_WEBHOOK_CONFIGURATIONS = cluster(
        "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
    );
    /// Who may change a write.
    MUTATING_WEBHOOK_CONFIGURATIONS = cluster(
        "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
    );
    /// Rules for writes.
    VALIDATING_ADMISSION_POLICIES =
        cluster("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies");
    /// Where rules for writes are in force.
    VALIDATING_ADMISSION_POLICY_BINDINGS = cluster(
        "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
    );
    /// Which requests belong together.
    FLOW_SCHEMAS = cluster("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas");
    /// How much of the API server requests get.
    PRIORITY_LEVELS = cluster(
        "flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations"
    );
    /// What kubelets and kernels of all nodes have in common. Who says no more than `Node` means none of these.
    NODE_SETTINGS = cluster("config.openshift.io", "v1", "Node", "nodes");
}

/// The kind of this group and kind, in the version that is asked for.
pub fn of_group(api_version: &str, kind: &str) -> Option<Resource> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let known = ALL.iter().find(|resource| resource.group == group && resource.kind == kind)?;
    Some(Resource { version: version.to_owned().into(), ..known.clone() })
}

/// The kind that one of these CustomResourceDefinitions defines under this group and kind, in the version that is asked
/// for.
pub fn defined<'a>(
    api_version: &str,
    kind: &str,
    definitions: impl Iterator<Item = &'a Value>,
) -> Option<Resource> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let spec = definitions
        .map(|definition| &definition["spec"])
        .find(|spec| spec["names"]["kind"] == kind && spec["group"] == group)?;
    Some(Resource {
        group: group.to_owned().into(),
        version: version.to_owned().into(),
        kind: kind.to_owned().into(),
        plural: spec["names"]["plural"].as_str()?.to_owned().into(),
        namespaced: spec["scope"] == "Namespaced",
    })
}

/// The kind that objects call by this name in their `kind` field, or that has this name in a group, such as
/// `Node.config.openshift.io`.
pub fn by_kind(kind: &str) -> Option<&'static Resource> {
    let (kind, group) = kind.split_once('.').map_or((kind, None), |(kind, group)| (kind, Some(group)));
    ALL.iter().find(|resource| resource.kind == kind && group.is_none_or(|group| resource.group == group))
}

/// What [`by_kind`] takes for each of the kinds.
pub fn names() -> impl Iterator<Item = String> {
    ALL.iter().map(|resource| match by_kind(&resource.kind) {
        Some(first) if first != resource => format!("{}.{}", resource.kind, resource.group),
        _ => resource.kind.to_string(),
    })
}

/// The kind of an object.
pub fn of(object: &Value) -> Option<&'static Resource> {
    nearest(object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str()?)
}

/// The kind of this name in the group of that version, else one that is called so in another.
pub fn nearest(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let is_it = |resource: &&Resource| resource.group == group && resource.kind == kind;
    ALL.iter().find(is_it).or_else(|| by_kind(kind))
}
