//! Facts of an OpenShift release: the contents of its payload, and the durations of rollouts.
//!
//! The facts are in `manifests/releases/`, one file per minor. A z-stream release has the facts of its minor.
//!
//! A schema that changed has a file per minor in `manifests/crds/`, with the differences only; fields behind a feature
//! gate are in the folders `tech-preview` and `dev-preview` beside it. More objects of a payload are files in
//! `manifests/payload/`, named among the `objects` of a component.

mod architecture;
mod facts;
mod images;
mod operators;

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::Version;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::text;

use super::manifests::MajorMinor;
use super::payload::Payload;
pub use architecture::Architecture;
use facts::{FACTS, Facts};
pub use operators::{OwnCondition, related_objects, version_in};

/// The component whose image is the release image itself.
pub const CLUSTER_VERSION_OPERATOR: &str = "cluster-version-operator";

/// The repository of release images.
const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release";

/// A release: its version, its image and its contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// Version, such as `4.14.8`.
    pub version: Version,
    /// Pull spec by digest.
    pub image: String,
    /// The architecture of the image.
    pub architecture: Architecture,
    /// Minor of its Kubernetes 1.x.
    pub kubernetes_minor: u32,
    /// Channels that contain it, sorted.
    pub channels: Vec<String>,
    /// URL of its advisory.
    pub url: String,
    /// All capabilities that it knows, sorted bytewise.
    pub known_capabilities: Vec<String>,
    /// Further capabilities that it knows with a preview feature set, sorted bytewise. `vCurrent` then
    /// contains them.
    pub preview_capabilities: Vec<String>,
    /// Named capability sets (`None`, `v4.11` ..., `vCurrent`), each sorted bytewise. Empty before 4.11.
    pub capability_sets: BTreeMap<String, Vec<String>>,
    /// Payload components. Those from facts are sorted by run level and name, and shared by all releases of a
    /// minor.
    pub components: Arc<[Component]>,
    /// The gates before an update to the next minor that an administrator must acknowledge, by name.
    pub admin_gates: BTreeMap<String, String>,
    /// Its real manifests, if they are available. They replace those that `components` describes.
    pub payload: Option<Arc<Payload>>,
}

/// One component of a payload: the manifests `0000_<run level>_<name>_*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Name in the manifests' file names, such as `kube-apiserver-operator`.
    pub name: String,
    /// Run level, `0..=99`.
    pub run_level: u8,
    /// The number of its manifests except CRDs, Deployment and ClusterOperator, which are modelled
    /// separately.
    pub manifests: u32,
    /// Capabilities that must all be enabled to apply it.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Its CRDs by plural and group, such as `clusterversions.config.openshift.io`.
    #[serde(default)]
    pub crds: Vec<String>,
    /// Its CRDs that exist only with a preview feature set.
    #[serde(default)]
    pub previews: Vec<String>,
    /// File names in `manifests/payload/` with more of its objects.
    #[serde(default)]
    pub objects: Vec<String>,
    /// Its operator, if it has one.
    #[serde(default)]
    pub operator: Option<OperatorFacts>,
}

/// An operator with a ClusterOperator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorFacts {
    /// Name of the ClusterOperator.
    pub cluster_operator: String,
    /// Namespace of its Deployment.
    pub namespace: String,
    /// Name of its Deployment.
    pub deployment: String,
    /// Names in `status.versions` other than `operator`.
    #[serde(default)]
    pub operands: Vec<String>,
    /// Minimum and maximum duration of a rollout in seconds.
    pub rollout_seconds: (u64, u64),
    /// Conditions with its own text while it is healthy.
    #[serde(default)]
    pub says: Vec<OwnCondition>,
    /// The versions in the `status.versions` of its manifest, if there is a manifest.
    #[serde(skip)]
    pub versions: Option<Vec<(String, String)>>,
    /// The `status.relatedObjects` of its manifest, if there is a manifest.
    #[serde(skip)]
    pub related_objects: Option<Value>,
    /// Its ServiceAccount, if its Deployment has one.
    #[serde(skip)]
    pub account: Account,
}

/// The identity of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Account {
    /// The ServiceAccount with the name of its Deployment.
    #[default]
    OfDeployment,
    /// This ServiceAccount, which the payload binds to a role.
    Named(String),
    /// An administrator, because the payload does not define its permissions.
    Unknown,
}

impl Release {
    /// The operators in its components.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorFacts> {
        self.components.iter().filter_map(|component| component.operator.as_ref())
    }

    /// The operator with this ClusterOperator.
    pub fn operator(&self, cluster_operator: &str) -> Option<&OperatorFacts> {
        self.operators().find(|operator| operator.cluster_operator == cluster_operator)
    }

    /// The release of this version, with the facts of its minor.
    ///
    /// # Errors
    /// There are no facts for its minor.
    pub fn find(version: &Version) -> Result<Self, UnknownRelease> {
        let facts = FACTS.get(&(version.major, version.minor)).ok_or_else(|| UnknownRelease::new(version))?;
        Ok(Self::from_facts(version, facts))
    }

    fn from_facts(version: &Version, facts: &Facts) -> Self {
        let digest = Sha256::digest(format!("windtunnel {version}"));
        let serial = 1000 + u32::from(u16::from_be_bytes([digest[0], digest[1]])) % 9000;
        Self {
            version: version.clone(),
            image: pullspec(&digest),
            architecture: Architecture::default(),
            kubernetes_minor: facts.kubernetes,
            channels: channels((version.major, version.minor)),
            url: format!("https://access.redhat.com/errata/RHSA-{}:{serial}", facts.advisory_year),
            known_capabilities: facts.known_capabilities(),
            preview_capabilities: facts.preview_capabilities.clone(),
            capability_sets: facts.frozen_sets(),
            components: Arc::clone(&facts.components),
            admin_gates: facts.gates_of((version.major, version.minor)),
            payload: None,
        }
    }

    /// The minor whose facts complete the payload of this version: its own, or else the newest one before it,
    /// or else the oldest.
    pub fn line_of_facts(version: &Version) -> MajorMinor {
        nearest_facts(version).0
    }

    /// The release of this version with the facts of the nearest minor ([`Release::line_of_facts`]).
    pub fn nearest(version: &Version) -> Self {
        Self::from_facts(version, nearest_facts(version).1)
    }

    /// The release of this version with the manifests of `payload`, which take precedence over the facts of
    /// the nearest minor.
    pub fn with_payload(version: &Version, payload: Arc<Payload>) -> Self {
        let mut release = Self::nearest(version);
        release.kubernetes_minor = payload.kubernetes_minor.unwrap_or(release.kubernetes_minor);
        if !payload.channels.is_empty() {
            release.channels.clone_from(&payload.channels);
        }
        release.url.clone_from(&payload.url);
        release.components = operators::components(&release, &payload).into();
        release.payload = Some(payload);
        release
    }

    /// The same release for this architecture. All machines of a run have the same architecture, so only the
    /// multi-architecture image differs.
    #[must_use]
    pub fn for_architecture(self, architecture: Architecture) -> Self {
        Self { image: self.payload_image(architecture), architecture, ..self }
    }

    /// Pull spec of its image for this architecture.
    pub fn payload_image(&self, architecture: Architecture) -> String {
        if architecture == Architecture::Multi { self.multi_image() } else { self.image.clone() }
    }

    /// Pull spec of its multi-architecture image.
    pub fn multi_image(&self) -> String {
        pullspec(&Sha256::digest(format!("windtunnel {} multi", self.version)))
    }

    /// The minors with facts, ascending.
    pub fn lines() -> impl Iterator<Item = MajorMinor> {
        FACTS.keys().copied()
    }

    /// The release as in `desired` and `availableUpdates` of ClusterVersion's status.
    pub fn as_status(&self) -> Value {
        let mut status = json!({
            "version": self.version.to_string(),
            "image": self.image,
            "channels": self.channels,
        });
        if !self.url.is_empty() {
            status["url"] = json!(self.url);
        }
        self.add_architecture(&mut status);
        status
    }

    /// Adds the architecture to a release in a status, which has this field for multi-architecture payloads
    /// from 4.21 on.
    pub fn add_architecture(&self, status: &mut Value) {
        if self.architecture == Architecture::Multi && self.line() >= (4, 21) {
            status["architecture"] = json!(self.architecture.in_cluster_version());
        }
    }

    /// The version of an operand in a ClusterOperator: Kubernetes' own for Kubernetes components, the
    /// operator image for machine-config's `operator-image`, or else that of the release.
    pub fn operand_version(&self, operand: &str) -> String {
        match operand {
            "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" => {
                format!("1.{}.{}", self.kubernetes_minor, self.version.patch)
            }
            "operator-image" => self.image_of("machine-config-operator"),
            _ => self.version.to_string(),
        }
    }

    /// The `status.versions` of an operator: from its manifest, or else of its operands and itself.
    pub fn versions_of(&self, operator: &OperatorFacts) -> Vec<(String, String)> {
        let of_facts = || {
            let operands = operator.operands.iter().map(|name| (name.clone(), self.operand_version(name)));
            operands.chain([("operator".to_owned(), self.version.to_string())]).collect()
        };
        operator.versions.clone().unwrap_or_else(of_facts)
    }

    /// Returns whether its payload has the CRD with this plural and group.
    pub fn defines(&self, crd: &str) -> bool {
        match &self.payload {
            Some(payload) => payload.manifests.iter().any(|manifest| {
                manifest.object["kind"] == "CustomResourceDefinition"
                    && manifest.object["metadata"]["name"] == crd
            }),
            None => self.components.iter().any(|component| component.crds.iter().any(|name| name == crd)),
        }
    }

    /// Returns whether a cluster with this release and feature set serves the CRD with this plural and group.
    pub fn serves(&self, crd: &str, feature_set: &str) -> bool {
        let is_preview =
            || self.components.iter().any(|component| component.previews.iter().any(|name| name == crd));
        self.defines(crd) || (crate::manifests::is_preview(feature_set) && is_preview())
    }

    /// Major and minor of its version: `(4, 14)` for `4.14.8`.
    pub fn line(&self) -> MajorMinor {
        (self.version.major, self.version.minor)
    }
}

/// The facts of the nearest minor, and that minor.
fn nearest_facts(version: &Version) -> (MajorMinor, &'static Facts) {
    let line = (version.major, version.minor);
    let nearest = FACTS.range(..=line).next_back().or_else(|| FACTS.first_key_value());
    let (line, facts) = nearest.unwrap_or_else(|| panic!("manifests/releases has no file"));
    (*line, facts)
}

fn pullspec(digest: &[u8]) -> String {
    format!("{REPOSITORY}@sha256:{}", text::hex(digest))
}

/// Channels of a minor, sorted. Only even minors have extended update support.
fn channels((major, minor): MajorMinor) -> Vec<String> {
    ["candidate", "eus", "fast", "stable"]
        .iter()
        .filter(|name| **name != "eus" || minor.is_multiple_of(2))
        .map(|name| format!("{name}-{major}.{minor}"))
        .collect()
}

/// A version without facts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown release {version}: known minors are {known}{hint}")]
pub struct UnknownRelease {
    /// The requested version.
    pub version: String,
    /// The known minors, joined by commas.
    pub known: String,
    /// `; did you mean ...?` with the nearest known version, or empty.
    pub hint: String,
}

impl UnknownRelease {
    fn new(version: &Version) -> Self {
        let minors: Vec<String> = Release::lines().map(facts::name).collect();
        let requested = version.to_string();
        let rest = requested.splitn(3, '.').nth(2).unwrap_or_default();
        let versions: Vec<String> = minors.iter().map(|minor| format!("{minor}.{rest}")).collect();
        let hint = text::did_you_mean(&requested, versions.iter().map(String::as_str));
        Self { version: requested, known: minors.join(", "), hint }
    }
}

#[cfg(test)]
mod tests;
