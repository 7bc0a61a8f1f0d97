//! The Kubernetes version of controllers, and the table of what differs by it.

use windtunnel_core::resources::{CLUSTER_OPERATORS, NODES};
use windtunnel_core::{Object, View, cluster_operator};

/// How a Deployment controller words the Event about a scaled ReplicaSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalingText {
    /// `to 2`.
    To,
    /// `to 2 from 1`, and only `to 2` for a new ReplicaSet.
    ToFrom,
    /// `from 1 to 2`.
    FromTo,
}

/// How a scheduler words taints that a pod does not tolerate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaintText {
    /// `node(s) had taint {KEY: VALUE}, that the pod didn't tolerate`.
    Had,
    /// `node(s) had untolerated taint {KEY: VALUE}`.
    Untolerated,
    /// `node(s) had untolerated taint(s)`.
    Unnamed,
}

/// What controllers of a Kubernetes minor do in their own way.
#[expect(clippy::struct_excessive_bools, reason = "each is a difference of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Events name their reporting controller besides their source (kubernetes#116506).
    pub(crate) reports_controller: bool,
    /// The text of `ScalingReplicaSet` (kubernetes#101142, and Events of OpenShift 4.8 and 4.18).
    pub(crate) scaling: ScalingText,
    /// Events of StatefulSets begin with a capital letter.
    pub(crate) capitalizes: bool,
    /// Deployments and ReplicaSets count terminating pods (`DeploymentReplicaSetTerminatingReplicas`).
    pub(crate) counts_terminating: bool,
    /// The controller in the Events about evictions by taints (`SeparateTaintEvictionController`).
    pub(crate) taint_evictor: &'static str,
    /// The text about taints in the reasons of the scheduler.
    pub(crate) taints: TaintText,
    /// The scheduler tries to deallocate resource claims for a pod that fits nowhere (`DynamicResourceAllocation`).
    pub(crate) deallocates_claims: bool,
    /// After how many seconds a silent kubelet counts as unreachable by default (`node-monitor-grace-period`). OpenShift
    /// sets 40 in all versions.
    pub(crate) grace_seconds: i64,
    /// The scheduler reports the generation of the pod in its condition (`PodObservedGenerationTracking`).
    pub(crate) observes_pods: bool,
}

impl Differences {
    /// The row of a minor.
    pub(crate) fn of(minor: u32) -> Self {
        Self {
            reports_controller: minor >= 28,
            scaling: match minor {
                ..=23 => ScalingText::To,
                24..=31 => ScalingText::ToFrom,
                _ => ScalingText::FromTo,
            },
            capitalizes: minor >= 35,
            counts_terminating: minor >= 35,
            taint_evictor: if minor >= 29 { "taint-eviction-controller" } else { "taint-controller" },
            taints: match minor {
                ..=23 => TaintText::Had,
                24..=34 => TaintText::Untolerated,
                _ => TaintText::Unnamed,
            },
            deallocates_claims: minor >= 34,
            grace_seconds: if minor >= 32 { 50 } else { 40 },
            observes_pods: minor >= 34,
        }
    }
}

/// Where a controller gets its Kubernetes version from. The default is the version that the ClusterOperator reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ControllerVersion {
    /// The minor version; `None` to use the version in the ClusterOperator `kube-controller-manager`.
    minor: Option<u32>,
    /// The minor version of an API server that stays at it; `None` if the server changes with the controller.
    server_minor: Option<u32>,
}

impl ControllerVersion {
    /// Kubernetes 1.`minor`, for a cluster without operators.
    pub fn fixed(minor: u32) -> Self {
        Self { minor: Some(minor), server_minor: None }
    }

    /// The same beside an API server that stays at Kubernetes 1.`server_minor`, or changes with the controller.
    #[must_use]
    pub fn beside(self, server_minor: Option<u32>) -> Self {
        Self { server_minor, ..self }
    }

    /// The minor version of an API server that stays at it.
    pub(crate) fn server_minor(self) -> Option<u32> {
        self.server_minor
    }

    /// The minor version. Without a ClusterOperator it is that of the API server, or of the kubelets if the server changes,
    /// or the newest one without a kubelet.
    pub(crate) fn minor_in(self, view: &View) -> u32 {
        let reported = self.minor.or_else(|| minor_reported(view)).or(self.server_minor);
        reported.or_else(|| minor_of_kubelets(view)).unwrap_or(u32::MAX)
    }

    /// What the controller does in its own way.
    pub(crate) fn differences_in(self, view: &View) -> Differences {
        Differences::of(self.minor_in(view))
    }
}

/// The Kubernetes minor version in the ClusterOperator `kube-controller-manager`.
fn minor_reported(view: &View) -> Option<u32> {
    let operator = "kube-controller-manager";
    let object = view.get(&CLUSTER_OPERATORS, "", operator)?;
    cluster_operator::version_of(object, operator)?.split('.').nth(1)?.parse().ok()
}

/// The newest minor version of the kubelets. None is newer than the control plane.
fn minor_of_kubelets(view: &View) -> Option<u32> {
    let version =
        |node: &Object| node.text("/status/nodeInfo/kubeletVersion").split('.').nth(1)?.parse().ok();
    view.list(&NODES).filter_map(version).max()
}
