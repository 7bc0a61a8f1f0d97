//! Facts about a cluster as a whole, from its objects.

use semver::Version;
use windtunnel_core::cluster_operator::version_of;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, FEATURE_GATES, NODES};
use windtunnel_core::{Object, cluster_version};
use windtunnel_openshift::manifests::MajorMinor;

use super::layout::is_of;

/// The main facts about a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The current release or the target of an update in progress (`status.desired` of the ClusterVersion).
    pub desired: Option<Version>,
    /// The release of its last completed update.
    pub completed: Option<Version>,
    /// `spec.featureSet` of FeatureGate `cluster`; empty for the default.
    pub feature_set: String,
    /// The minor of its kube-apiserver's Kubernetes version, from the ClusterOperator or else from the newest
    /// kubelet.
    pub kubernetes_minor: Option<u32>,
}

impl Facts {
    /// Collects the facts from objects.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let (mut facts, mut kubelets) = (Self::default(), None);
        for object in objects {
            if is_of(object, &CLUSTER_VERSIONS) && object.name() == "version" {
                facts.desired = cluster_version::desired_version(object).parse().ok();
                let completed = cluster_version::completed_version(object);
                facts.completed = completed.and_then(|version| version.parse().ok());
            } else if is_of(object, &FEATURE_GATES) && object.name() == "cluster" {
                object.text("/spec/featureSet").clone_into(&mut facts.feature_set);
            } else if is_of(object, &CLUSTER_OPERATORS) && object.name() == "kube-apiserver" {
                facts.kubernetes_minor = version_of(object, "kube-apiserver").and_then(minor);
            } else if is_of(object, &NODES) {
                kubelets = kubelets.max(minor(object.text("/status/nodeInfo/kubeletVersion")));
            }
        }
        facts.kubernetes_minor = facts.kubernetes_minor.or(kubelets);
        facts
    }

    /// Returns major and minor of the desired release.
    pub fn line(&self) -> Option<MajorMinor> {
        self.desired.as_ref().map(|version| (version.major, version.minor))
    }
}

/// Returns the 27 of `v1.27.3+4aaeaec`.
fn minor(text: &str) -> Option<u32> {
    let (_, rest) = text.trim_start_matches('v').split_once('.')?;
    rest.split('.').next()?.parse().ok()
}
