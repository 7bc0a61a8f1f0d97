//! Kinds by the names that folders and files of dumps use for them.

use std::sync::LazyLock;

use windtunnel_core::Resource;
use windtunnel_core::resources;
use windtunnel_openshift::manifests;

macro_rules! more {
    ($($scope:ident $group:literal $version:literal: $($kind:literal $plural:literal),+;)+) => {
        &[$($(Resource::$scope($group, $version, $kind, $plural)),+),+]
    };
}

/// Kinds that no simulated component uses.
const MORE: &[Resource] = more! {
    cluster "" "v1": "ComponentStatus" "componentstatuses";
    namespaced "snapshot.storage.k8s.io" "v1": "VolumeSnapshot" "volumesnapshots";
    cluster "snapshot.storage.k8s.io" "v1":
        "VolumeSnapshotClass" "volumesnapshotclasses", "VolumeSnapshotContent" "volumesnapshotcontents";
    cluster "config.openshift.io" "v1":
        "Authentication" "authentications", "Build" "builds", "Console" "consoles", "DNS" "dnses", "Image" "images",
        "ImageContentPolicy" "imagecontentpolicies", "ImageDigestMirrorSet" "imagedigestmirrorsets",
        "ImageTagMirrorSet" "imagetagmirrorsets", "Ingress" "ingresses", "Network" "networks", "OAuth" "oauths",
        "OperatorHub" "operatorhubs", "Project" "projects", "Scheduler" "schedulers";
    cluster "imageregistry.operator.openshift.io" "v1": "Config" "configs", "ImagePruner" "imagepruners";
    cluster "samples.operator.openshift.io" "v1": "Config" "configs";
    cluster "operator.openshift.io" "v1":
        "Authentication" "authentications", "CSISnapshotController" "csisnapshotcontrollers",
        "CloudCredential" "cloudcredentials", "ClusterCSIDriver" "clustercsidrivers", "Config" "configs",
        "Console" "consoles", "DNS" "dnses", "Etcd" "etcds", "InsightsOperator" "insightsoperators",
        "KubeAPIServer" "kubeapiservers", "KubeControllerManager" "kubecontrollermanagers",
        "KubeScheduler" "kubeschedulers", "KubeStorageVersionMigrator" "kubestorageversionmigrators",
        "Network" "networks", "OpenShiftAPIServer" "openshiftapiservers",
        "OpenShiftControllerManager" "openshiftcontrollermanagers", "ServiceCA" "servicecas", "Storage" "storages";
    cluster "operator.openshift.io" "v1alpha1": "ImageContentSourcePolicy" "imagecontentsourcepolicies";
    namespaced "operator.openshift.io" "v1": "IngressController" "ingresscontrollers";
    cluster "apiserver.openshift.io" "v1": "APIRequestCount" "apirequestcounts";
    namespaced "autoscaling.openshift.io" "v1beta1": "MachineAutoscaler" "machineautoscalers";
    namespaced "machine.openshift.io" "v1beta1":
        "Machine" "machines", "MachineHealthCheck" "machinehealthchecks", "MachineSet" "machinesets";
    namespaced "machine.openshift.io" "v1": "ControlPlaneMachineSet" "controlplanemachinesets";
    cluster "machineconfiguration.openshift.io" "v1":
        "ContainerRuntimeConfig" "containerruntimeconfigs", "KubeletConfig" "kubeletconfigs";
    cluster "network.openshift.io" "v1":
        "ClusterNetwork" "clusternetworks", "HostSubnet" "hostsubnets", "NetNamespace" "netnamespaces";
    namespaced "operators.coreos.com" "v1alpha1":
        "CatalogSource" "catalogsources", "ClusterServiceVersion" "clusterserviceversions",
        "InstallPlan" "installplans", "Subscription" "subscriptions";
    namespaced "operators.coreos.com" "v1": "OperatorGroup" "operatorgroups";
    namespaced "apps.openshift.io" "v1": "DeploymentConfig" "deploymentconfigs";
    namespaced "build.openshift.io" "v1": "Build" "builds", "BuildConfig" "buildconfigs";
    cluster "image.openshift.io" "v1": "Image" "images";
    cluster "oauth.openshift.io" "v1": "OAuthClient" "oauthclients";
    namespaced "template.openshift.io" "v1": "Template" "templates";
};

/// Names of folders and files that are neither a plural nor a kind.
const ALIASES: &[(&str, &str)] = &[
    ("crd", "customresourcedefinitions"),
    ("crds", "customresourcedefinitions"),
    ("csr", "certificatesigningrequests"),
    ("csrs", "certificatesigningrequests"),
    ("hpas", "horizontalpodautoscalers"),
    ("pdb", "poddisruptionbudgets"),
    ("pdbs", "poddisruptionbudgets"),
    ("pvcs", "persistentvolumeclaims"),
    ("pvs", "persistentvolumes"),
    ("securitycontextconstraint", "securitycontextconstraints"),
];

/// All kinds. Of several with the same name, those of Kubernetes come first.
static KNOWN: LazyLock<Vec<Resource>> = LazyLock::new(|| {
    let definitions = manifests::crds((u64::MAX, 0)).chain(manifests::objects("served"));
    let defined = definitions.filter_map(Resource::of_definition);
    let mut known: Vec<Resource> =
        resources::ALL.iter().cloned().chain(MORE.iter().cloned()).chain(defined).collect();
    known.sort_by_key(|resource| rank(&resource.group));
    known
});

fn rank(group: &str) -> u8 {
    match group {
        "" => 0,
        _ if !group.contains('.') => 1,
        _ if group.ends_with(".k8s.io") => 2,
        _ => 3,
    }
}

/// Returns the kind with this plural, singular or other name, in this group if it is known.
pub(super) fn by_word(group: Option<&str>, word: &str) -> Option<Resource> {
    let word = word.to_lowercase().replace(['-', '_'], "");
    let alias = ALIASES.iter().find(|(alias, _)| *alias == word);
    let word = alias.map_or(word.as_str(), |(_, plural)| plural);
    let is_it = |resource: &&Resource| {
        group.is_none_or(|group| resource.group == group)
            && (resource.plural == word || resource.kind.to_lowercase() == word)
    };
    KNOWN.iter().find(is_it).cloned()
}

/// Returns the kind with this plural, or with an alias of it.
pub(super) fn by_plural(word: &str) -> Option<Resource> {
    let kind = by_word(None, word)?;
    let word = word.to_lowercase().replace(['-', '_'], "");
    (kind.plural == word || kind.kind.to_lowercase() != word).then_some(kind)
}

/// Returns the kind of a group and name, in any version.
pub(super) fn by_kind(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    KNOWN.iter().find(|resource| resource.group == group && resource.kind == kind)
}

/// Returns the plural of a kind: a known one, or the regular one.
pub(super) fn plural(api_version: &str, kind: &str) -> String {
    by_kind(api_version, kind)
        .map_or_else(|| regular_plural(&kind.to_lowercase()), |known| known.plural.to_string())
}

fn regular_plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") => {
            format!("{noun}es")
        }
        _ => format!("{noun}s"),
    }
}
