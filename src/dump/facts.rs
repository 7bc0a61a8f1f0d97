//! Facts about a cluster as a whole, from its objects.

use semver::Version;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, FEATURE_GATES, NODES};
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
                facts.desired = object.text("/status/desired/version").parse().ok();
                let mut history = object.list("/status/history").iter();
                let completed = history.find(|entry| entry["state"] == "Completed");
                facts.completed = completed.and_then(|entry| entry["version"].as_str()?.parse().ok());
            } else if is_of(object, &FEATURE_GATES) && object.name() == "cluster" {
                object.text("/spec/featureSet").clone_into(&mut facts.feature_set);
            } else if is_of(object, &CLUSTER_OPERATORS) && object.name() == "kube-apiserver" {
                facts.kubernetes_minor = operand(object, "kube-apiserver");
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

/// Returns the Kubernetes minor of an operand that a ClusterOperator reports.
fn operand(operator: &Object, name: &str) -> Option<u32> {
    let mut versions = operator.list("/status/versions").iter();
    let found = versions.find(|version| version["name"] == name)?;
    minor(found.get("version").and_then(Value::as_str)?)
}

/// Returns the 27 of `v1.27.3+4aaeaec`.
fn minor(text: &str) -> Option<u32> {
    let (_, rest) = text.trim_start_matches('v').split_once('.')?;
    rest.split('.').next()?.parse().ok()
}
