//! Facts of an OpenShift release: what its payload holds and how long its operators take.
//!
//! The facts are data in `manifests/releases/`, one file per minor; a z-stream release has the facts of its minor.

use std::collections::BTreeMap;

use semver::Version;

/// The repository that release images are pulled from.
pub const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release";

/// One release: its name, its image and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// Version, such as `4.14.8`.
    pub version: Version,
    /// Pull specification by digest.
    pub image: String,
    /// Minor of the Kubernetes 1.x that its kube-apiserver is.
    pub kubernetes_minor: u32,
    /// Channels that list it, sorted.
    pub channels: Vec<String>,
    /// Advisory page.
    pub url: String,
    /// All capabilities that it knows, sorted bytewise.
    pub known_capabilities: Vec<String>,
    /// Named capability sets (`None`, `v4.11` ..., `vCurrent`), each sorted bytewise.
    pub capability_sets: BTreeMap<String, Vec<String>>,
    /// Payload components in order of run level and name.
    pub components: Vec<Component>,
}

/// One component of a payload: the manifests `0000_<run level>_<name>_*`.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Name in the manifests' file names, such as `kube-apiserver-operator`.
    pub name: String,
    /// Run level, `0..=99`.
    pub run_level: u8,
    /// How many manifests it has beside those modelled one by one (CRDs, Deployment, ClusterOperator).
    pub manifests: u32,
    /// Capabilities that must all be enabled for it to be applied.
    pub capabilities: Vec<String>,
    /// CRDs that it ships, by plural and group, such as `clusterversions.config.openshift.io`.
    pub crds: Vec<String>,
    /// The operator that it runs, if any.
    pub operator: Option<Operator>,
}

/// An operator with its ClusterOperator.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// Name of the ClusterOperator.
    pub cluster_operator: String,
    /// Namespace of its Deployment.
    pub namespace: String,
    /// Name of its Deployment.
    pub deployment: String,
    /// Names in `status.versions` beside `operator`.
    pub operands: Vec<String>,
    /// Shortest and longest time that a rollout to another release takes, in seconds.
    pub rollout_seconds: (u64, u64),
}

/// A version that no facts are known for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown release {version}: there are facts for {known}")]
pub struct UnknownRelease {
    /// What was asked for.
    pub version: String,
    /// The minors that are known, joined by commas.
    pub known: String,
}
