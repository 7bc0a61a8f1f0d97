//! The kinds that simulated components read and write, and all other kinds that each Kubernetes API server stores, by plural.

use jiff::SignedDuration;
use serde_json::Value;

use crate::Resource;

/// How long OpenShift's kube-apiservers keep Events (`event-ttl` in their configuration).
pub const EVENT_TTL: SignedDuration = SignedDuration::from_hours(3);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $scope:ident($group:literal, $version:literal, $kind:literal, $plural:literal $(,)?);)*) => {
        $($(#[$doc])* pub const $name: Resource = Resource::$scope($group, $version, $kind, $plural);)*
        /// All kinds of this module.
        pub const ALL: &[Resource] = &[$($name),*];
    };
}

kinds! {
    /// The requested update and its progress, maintained by the cluster-version operator.
    CLUSTER_VERSIONS = cluster("config.openshift.io", "v1", "ClusterVersion", "clusterversions");
    /// The status that each cluster operator reports.
    CLUSTER_OPERATORS = cluster("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");
    /// The progress of an update, published by the update status controller.
    UPDATE_STATUSES = cluster("update.openshift.io", "v1alpha1", "UpdateStatus", "updatestatuses");
    /// The registrations of insight producers besides the update status controller.
    UPDATE_INFORMERS = cluster("update.openshift.io", "v1alpha1", "UpdateInformer", "updateinformers");
    /// The insights of registered producers.
    UPDATE_INSIGHTS = namespaced("update.openshift.io", "v1alpha1", "UpdateInsight", "updateinsights");
    /// Requests to assess an update.
    AGENTIC_RUNS = namespaced("agentic.openshift.io", "v1alpha1", "AgenticRun", "agenticruns");
    /// The feature set of the cluster.
    FEATURE_GATES = cluster("config.openshift.io", "v1", "FeatureGate", "featuregates");
    /// The image signatures that the container runtime requires.
    CLUSTER_IMAGE_POLICIES = cluster("config.openshift.io", "v1", "ClusterImagePolicy", "clusterimagepolicies");
    /// The platform that the cluster runs on.
    INFRASTRUCTURES = cluster("config.openshift.io", "v1", "Infrastructure", "infrastructures");
    /// The settings that all API servers of the cluster share.
    API_SERVERS = cluster("config.openshift.io", "v1", "APIServer", "apiservers");
    /// Mirrors of repositories for images that pods name by digest.
    IMAGE_DIGEST_MIRROR_SETS =
        cluster("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets");
    /// Mirrors of repositories for images that pods name by tag.
    IMAGE_TAG_MIRROR_SETS = cluster("config.openshift.io", "v1", "ImageTagMirrorSet", "imagetagmirrorsets");
    /// The predecessors of ImageDigestMirrorSets.
    IMAGE_CONTENT_SOURCE_POLICIES = cluster(
        "operator.openshift.io", "v1alpha1", "ImageContentSourcePolicy", "imagecontentsourcepolicies"
    );
    /// The registries that nodes may use (`images.config.openshift.io`).
    IMAGE_SETTINGS = cluster("config.openshift.io", "v1", "Image", "images");
    /// The proxies between the cluster and the internet.
    PROXIES = cluster("config.openshift.io", "v1", "Proxy", "proxies");
    /// The cloud credentials that components request.
    CREDENTIALS_REQUESTS =
        namespaced("cloudcredential.openshift.io", "v1", "CredentialsRequest", "credentialsrequests");
    /// The privileges that pods may request.
    SECURITY_CONTEXT_CONSTRAINTS = cluster(
        "security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints"
    );
    /// The metrics endpoints that Prometheus scrapes.
    SERVICE_MONITORS = namespaced("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors");
    /// The alerting and recording rules of Prometheus.
    PROMETHEUS_RULES = namespaced("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules");
    /// Files, systemd units and the operating system of the nodes of a role.
    MACHINE_CONFIGS = cluster("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs");
    /// Groups of nodes that share a MachineConfig.
    MACHINE_CONFIG_POOLS =
        cluster("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools");
    /// The progress of a node in applying its MachineConfig.
    MACHINE_CONFIG_NODES =
        cluster("machineconfiguration.openshift.io", "v1", "MachineConfigNode", "machineconfignodes");
    /// Settings of the kubelets of pools.
    KUBELET_CONFIGS = cluster("machineconfiguration.openshift.io", "v1", "KubeletConfig", "kubeletconfigs");
    /// Settings of the container runtimes of pools.
    CONTAINER_RUNTIME_CONFIGS = cluster(
        "machineconfiguration.openshift.io", "v1", "ContainerRuntimeConfig", "containerruntimeconfigs"
    );
    /// Images that the nodes of a pool pull in advance and keep.
    PINNED_IMAGE_SETS =
        cluster("machineconfiguration.openshift.io", "v1", "PinnedImageSet", "pinnedimagesets");
    /// How the custom operating system image of a pool is built.
    MACHINE_OS_CONFIGS =
        cluster("machineconfiguration.openshift.io", "v1", "MachineOSConfig", "machineosconfigs");
    /// One build of the custom operating system image of a pool.
    MACHINE_OS_BUILDS = cluster("machineconfiguration.openshift.io", "v1", "MachineOSBuild", "machineosbuilds");
    /// Settings of the machine-config operator, such as the check of boot images.
    MACHINE_CONFIGURATIONS =
        cluster("operator.openshift.io", "v1", "MachineConfiguration", "machineconfigurations");
    /// Input of the machine-config controller, written by the machine-config operator.
    CONTROLLER_CONFIGS =
        cluster("machineconfiguration.openshift.io", "v1", "ControllerConfig", "controllerconfigs");
    /// Schemas of custom resources.
    CUSTOM_RESOURCE_DEFINITIONS =
        cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
    /// Schemas that CustomResourceDefinitions must stay compatible with.
    COMPATIBILITY_REQUIREMENTS = cluster(
        "apiextensions.openshift.io", "v1alpha1", "CompatibilityRequirement", "compatibilityrequirements"
    );
    /// Priorities of pods.
    PRIORITY_CLASSES = cluster("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses");
    /// Machines that run pods.
    NODES = cluster("", "v1", "Node", "nodes");
    /// Scopes for names of objects.
    NAMESPACES = cluster("", "v1", "Namespace", "namespaces");
    /// Groups of containers on a node.
    PODS = namespaced("", "v1", "Pod", "pods");
    /// Plain configuration data.
    CONFIG_MAPS = namespaced("", "v1", "ConfigMap", "configmaps");
    /// Identities of programs in pods.
    SERVICE_ACCOUNTS = namespaced("", "v1", "ServiceAccount", "serviceaccounts");
    /// Reports about objects, for people.
    EVENTS = namespaced("", "v1", "Event", "events");
    /// Sets of pods that are replaced gradually when their template changes.
    DEPLOYMENTS = namespaced("apps", "v1", "Deployment", "deployments");
    /// Sets of identical pods.
    REPLICA_SETS = namespaced("apps", "v1", "ReplicaSet", "replicasets");
    /// Sets of identical pods; the predecessor of ReplicaSets.
    REPLICATION_CONTROLLERS = namespaced("", "v1", "ReplicationController", "replicationcontrollers");
    /// Former templates of DaemonSets and StatefulSets.
    CONTROLLER_REVISIONS = namespaced("apps", "v1", "ControllerRevision", "controllerrevisions");
    /// Pods that run to completion.
    JOBS = namespaced("batch", "v1", "Job", "jobs");
    /// Locks for leader election, and heartbeats of nodes.
    LEASES = namespaced("coordination.k8s.io", "v1", "Lease", "leases");
    /// Permissions within a namespace.
    ROLES = namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles");
    /// Grants of roles to users, groups and service accounts.
    ROLE_BINDINGS = namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
    /// Permissions in the whole cluster.
    CLUSTER_ROLES = cluster("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles");
    /// Grants of cluster roles to users, groups and service accounts.
    CLUSTER_ROLE_BINDINGS =
        cluster("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings");
    /// Confidential configuration data.
    SECRETS = namespaced("", "v1", "Secret", "secrets");
    /// Stable network names for groups of pods.
    SERVICES = namespaced("", "v1", "Service", "services");
    /// The addresses of a Service, in one object.
    ENDPOINTS = namespaced("", "v1", "Endpoints", "endpoints");
    /// The addresses of a Service, in several objects.
    ENDPOINT_SLICES = namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");
    /// Sets of pods with one pod per node.
    DAEMON_SETS = namespaced("apps", "v1", "DaemonSet", "daemonsets");
    /// Sets of pods with stable names.
    STATEFUL_SETS = namespaced("apps", "v1", "StatefulSet", "statefulsets");
    /// Jobs on a schedule.
    CRON_JOBS = namespaced("batch", "v1", "CronJob", "cronjobs");
    /// The maximum number of pods that may be unavailable because of evictions.
    POD_DISRUPTION_BUDGETS = namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets");
    /// Allowed connections between pods.
    NETWORK_POLICIES = namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies");
    /// Volumes.
    PERSISTENT_VOLUMES = cluster("", "v1", "PersistentVolume", "persistentvolumes");
    /// Requests of pods for volumes.
    PERSISTENT_VOLUME_CLAIMS = namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
    /// Classes of volumes, each with a provisioner.
    STORAGE_CLASSES = cluster("storage.k8s.io", "v1", "StorageClass", "storageclasses");
    /// Storage drivers.
    CSI_DRIVERS = cluster("storage.k8s.io", "v1", "CSIDriver", "csidrivers");
    /// Container runtimes.
    RUNTIME_CLASSES = cluster("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses");
    /// Extension API servers that the API server proxies.
    API_SERVICES = cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices");
    /// Webhooks that may reject writes.
    VALIDATING_WEBHOOK_CONFIGURATIONS = cluster(
        "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
    );
    /// Webhooks that may modify writes.
    MUTATING_WEBHOOK_CONFIGURATIONS = cluster(
        "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
    );
    /// Requests for certificates.
    CERTIFICATE_SIGNING_REQUESTS =
        cluster("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests");
    /// Validation rules for writes.
    VALIDATING_ADMISSION_POLICIES =
        cluster("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies");
    /// The scopes of admission policies.
    VALIDATING_ADMISSION_POLICY_BINDINGS = cluster(
        "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
    );
    /// Assignments of requests to priority levels.
    FLOW_SCHEMAS = cluster("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas");
    /// The concurrency shares of requests in the API server.
    PRIORITY_LEVELS = cluster(
        "flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations"
    );
    /// Limits for all objects of a namespace together.
    RESOURCE_QUOTAS = namespaced("", "v1", "ResourceQuota", "resourcequotas");
    /// Limits and defaults for each object of a namespace.
    LIMIT_RANGES = namespaced("", "v1", "LimitRange", "limitranges");
    /// Templates of pods.
    POD_TEMPLATES = namespaced("", "v1", "PodTemplate", "podtemplates");
    /// Workloads whose replicas follow a load.
    AUTOSCALERS = namespaced("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers");
    /// Rules by which requests from outside reach Services.
    INGRESSES = namespaced("networking.k8s.io", "v1", "Ingress", "ingresses");
    /// Classes of Ingresses, each with a controller.
    INGRESS_CLASSES = cluster("networking.k8s.io", "v1", "IngressClass", "ingressclasses");
    /// Addresses that Services use.
    IP_ADDRESSES = cluster("networking.k8s.io", "v1", "IPAddress", "ipaddresses");
    /// Ranges for the addresses of Services.
    SERVICE_CIDRS = cluster("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs");
    /// The storage drivers of a node.
    CSI_NODES = cluster("storage.k8s.io", "v1", "CSINode", "csinodes");
    /// The free capacity of a storage driver.
    CSI_STORAGE_CAPACITIES =
        namespaced("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities");
    /// Attachments of volumes to nodes.
    VOLUME_ATTACHMENTS = cluster("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments");
    /// Classes of volumes whose parameters can change.
    VOLUME_ATTRIBUTES_CLASSES =
        cluster("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses");
    /// Changes that the API server makes to writes.
    MUTATING_ADMISSION_POLICIES =
        cluster("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies");
    /// The scopes of policies that change writes.
    MUTATING_ADMISSION_POLICY_BINDINGS = cluster(
        "admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"
    );
    /// Classes of devices.
    DEVICE_CLASSES = cluster("resource.k8s.io", "v1", "DeviceClass", "deviceclasses");
    /// Requests for devices.
    RESOURCE_CLAIMS = namespaced("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims");
    /// Templates of requests for devices.
    RESOURCE_CLAIM_TEMPLATES =
        namespaced("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates");
    /// The devices of a node.
    RESOURCE_SLICES = cluster("resource.k8s.io", "v1", "ResourceSlice", "resourceslices");
    /// Settings of the kubelets and kernels of all nodes. The plain name `Node` refers to [`NODES`] instead.
    NODE_SETTINGS = cluster("config.openshift.io", "v1", "Node", "nodes");
}

/// The kind of this group and name, with the requested version.
pub fn find(api_version: &str, kind: &str) -> Option<Resource> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let known = ALL.iter().find(|resource| resource.group == group && resource.kind == kind)?;
    Some(Resource { version: version.to_owned().into(), ..known.clone() })
}

/// The kind of this group and name that one of the CustomResourceDefinitions defines, with the requested
/// version.
pub fn find_in_definitions<'a>(
    api_version: &str,
    kind: &str,
    definitions: impl Iterator<Item = &'a Value>,
) -> Option<Resource> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let is_it = |definition: &&Value| {
        definition["spec"]["names"]["kind"] == kind && definition["spec"]["group"] == group
    };
    let mut definitions = definitions;
    Resource::of_definition_with_version(definitions.find(is_it)?, version)
}

/// The kind of this name, optionally qualified by its group as in `Node.config.openshift.io`.
pub fn by_kind(kind: &str) -> Option<&'static Resource> {
    let (kind, group) = kind.split_once('.').map_or((kind, None), |(kind, group)| (kind, Some(group)));
    ALL.iter().find(|resource| resource.kind == kind && group.is_none_or(|group| resource.group == group))
}

/// Whether a preview of the kind had this version, so that objects of earlier releases have it.
pub fn is_preview_version(api_version: &str, kind: &str) -> bool {
    matches!(
        (api_version, kind),
        ("config.openshift.io/v1alpha1", "ClusterImagePolicy")
            | ("machineconfiguration.openshift.io/v1alpha1", "MachineConfigNode")
    )
}

/// The shortest name of each kind that [`by_kind`] accepts.
pub fn names() -> impl Iterator<Item = String> {
    ALL.iter().map(|resource| match by_kind(&resource.kind) {
        Some(first) if first != resource => format!("{}.{}", resource.kind, resource.group),
        _ => resource.kind.to_string(),
    })
}

/// The kind of an object, by its `apiVersion` and `kind`.
pub fn find_for_object(object: &Value) -> Option<&'static Resource> {
    nearest(object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str()?)
}

/// The kind of an object, with the version of the object if that is a preview, and else with the version of [`ALL`].
pub fn find_with_preview(object: &Value) -> Option<Resource> {
    let (version, kind) = (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str()?);
    if is_preview_version(version, kind) { find(version, kind) } else { find_for_object(object).cloned() }
}

/// The kind of an object: as [`find_with_preview`], but a CustomResourceDefinition of its group comes before a kind of
/// the same name in another group.
pub fn find_or_defined<'a>(object: &Value, definitions: impl Iterator<Item = &'a Value>) -> Option<Resource> {
    let (version, kind) = (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str()?);
    let defined = match find(version, kind) {
        Some(_) => None,
        None => find_in_definitions(version, kind, definitions),
    };
    defined.or_else(|| find_with_preview(object))
}

/// The kind of this name in the group of `api_version`; otherwise the first kind of this name in any group.
pub fn nearest(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let is_it = |resource: &&Resource| resource.group == group && resource.kind == kind;
    ALL.iter().find(is_it).or_else(|| by_kind(kind))
}
