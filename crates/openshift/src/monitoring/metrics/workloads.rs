//! Metrics about workloads and machines: of kube-state-metrics, and of the Operator Lifecycle Manager.

use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Change, ChangeKind, Object, Resource, View};

use super::{count, truth};
use crate::promql::SampleCollector;

/// Operators that the Operator Lifecycle Manager installs. No simulated component has any.
pub(super) const CLUSTER_SERVICE_VERSIONS: Resource = Resource::namespaced(
    "operators.coreos.com",
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
);

/// The label of a copy in a namespace that the operator watches.
const COPIED: &str = "olm.copiedFrom";

/// The number of ClusterServiceVersions. Without any, the manager may not run.
pub(super) fn csv_count(view: &View, taken: &mut SampleCollector<'_>) {
    let all = view.list(&CLUSTER_SERVICE_VERSIONS).count();
    if all > 0 {
        taken.add(&[], count(all));
    }
}

/// Whether each ClusterServiceVersion succeeded; copies do not count.
pub(super) fn csv_succeeded(view: &View, taken: &mut SampleCollector<'_>) {
    for csv in view.list(&CLUSTER_SERVICE_VERSIONS).filter(|csv| csv.label(COPIED).is_none()) {
        let labels =
            [("namespace", csv.namespace()), ("name", csv.name()), ("version", csv.text("/spec/version"))];
        taken.add(&labels, truth(csv.text("/status/phase") == "Succeeded"));
    }
}

/// The images of running and waiting containers.
pub(super) fn containers(view: &View, taken: &mut SampleCollector<'_>) {
    for pod in view.list(&PODS) {
        for status in pod.list("/status/containerStatuses") {
            let text = |field: &str| status[field].as_str().unwrap_or_default();
            let labels = [
                ("namespace", pod.namespace()),
                ("pod", pod.name()),
                ("uid", pod.uid()),
                ("container", text("name")),
                ("image", text("image")),
                ("image_spec", image_spec(pod, text("name"))),
                ("image_id", text("imageID")),
                ("container_id", text("containerID")),
            ];
            taken.add(&labels, 1.0);
        }
    }
}

/// The metric of [`waiting_reasons`].
pub(super) const WAITING_REASON: &str = "kube_pod_container_status_waiting_reason";

/// The reasons of waiting containers.
pub(super) fn waiting_reasons(view: &View, taken: &mut SampleCollector<'_>) {
    for pod in view.list(&PODS) {
        for (container, reason) in waiting(pod) {
            let labels = [
                ("job", "kube-state-metrics"),
                ("service", "kube-state-metrics"),
                ("endpoint", "https-main"),
                ("namespace", pod.namespace()),
                ("pod", pod.name()),
                ("uid", pod.uid()),
                ("container", container),
                ("reason", reason),
            ];
            taken.add(&labels, 1.0);
        }
    }
}

/// Returns whether a change of a pod changes the reasons of its waiting containers.
pub(super) fn changes_waiting(change: &Change) -> bool {
    let after = Some(&change.object).filter(|_| change.kind != ChangeKind::Deleted);
    let before = match change.kind {
        ChangeKind::Added => None,
        ChangeKind::Modified => change.old.as_ref(),
        ChangeKind::Deleted => Some(&change.object),
    };
    !before.into_iter().flat_map(waiting).eq(after.into_iter().flat_map(waiting))
}

/// The containers of a pod that wait for a reason, with the reason.
fn waiting(pod: &Object) -> impl Iterator<Item = (&str, &str)> {
    pod.list("/status/containerStatuses").iter().filter_map(|status| {
        let reason = status["state"]["waiting"]["reason"].as_str()?;
        Some((status["name"].as_str().unwrap_or_default(), reason))
    })
}

/// The image in the specification of a container.
fn image_spec<'a>(pod: &'a Object, container: &str) -> &'a str {
    let mut containers = pod.list("/spec/containers").iter();
    let found = containers.find(|spec| spec["name"] == container);
    found.and_then(|spec| spec["image"].as_str()).unwrap_or_default()
}

pub(super) fn node_info(view: &View, taken: &mut SampleCollector<'_>) {
    for node in view.list(&NODES) {
        let addresses = node.list("/status/addresses");
        let internal = addresses.iter().find(|address| address["type"] == "InternalIP");
        let labels = [
            ("node", node.name()),
            ("kernel_version", node.text("/status/nodeInfo/kernelVersion")),
            ("os_image", node.text("/status/nodeInfo/osImage")),
            ("container_runtime_version", node.text("/status/nodeInfo/containerRuntimeVersion")),
            ("kubelet_version", node.text("/status/nodeInfo/kubeletVersion")),
            ("provider_id", node.text("/spec/providerID")),
            ("pod_cidr", node.text("/spec/podCIDR")),
            ("system_uuid", node.text("/status/nodeInfo/systemUUID")),
            ("internal_ip", internal.and_then(|address| address["address"].as_str()).unwrap_or_default()),
        ];
        taken.add(&labels, 1.0);
    }
}
