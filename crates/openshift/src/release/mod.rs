//! Facts of an OpenShift release: what its payload holds and how long its operators take.
//!
//! The facts are data in `manifests/releases/`, one file per minor; a z-stream release has the facts of its minor.

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

use super::manifests::Line;
use super::payload::Payload;
pub use architecture::Architecture;
use facts::FACTS;
pub use operators::{Said, version_in};

/// The repository that release images are pulled from.
const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release";

/// One release: its name, its image and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// Version, such as `4.14.8`.
    pub version: Version,
    /// Pull specification by digest.
    pub image: String,
    /// The machines that the image is for.
    pub architecture: Architecture,
    /// Minor of the Kubernetes 1.x that its kube-apiserver is.
    pub kubernetes_minor: u32,
    /// Channels that list it, sorted.
    pub channels: Vec<String>,
    /// Advisory page.
    pub url: String,
    /// All capabilities that it knows, sorted bytewise.
    pub known_capabilities: Vec<String>,
    /// Those that it knows beside them with a feature set of previews, sorted bytewise. There, `vCurrent` has them too.
    pub preview_capabilities: Vec<String>,
    /// Named capability sets (`None`, `v4.11` ..., `vCurrent`), each sorted bytewise.
    pub capability_sets: BTreeMap<String, Vec<String>>,
    /// Payload components in order of run level and name. All releases of a minor share them.
    pub components: Arc<[Component]>,
    /// Its real manifests, where they are known; they take the place of `components`.
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
    /// How many manifests it has beside those modelled one by one (CRDs, Deployment, ClusterOperator).
    pub manifests: u32,
    /// Capabilities that must all be enabled for it to be applied.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// CRDs that it ships, by plural and group, such as `clusterversions.config.openshift.io`.
    #[serde(default)]
    pub crds: Vec<String>,
    /// CRDs that it ships with feature sets of previews alone.
    #[serde(default)]
    pub previews: Vec<String>,
    /// Files of `manifests/payload/` with more of its objects, by their names.
    #[serde(default)]
    pub objects: Vec<String>,
    /// The operator that it runs, if any.
    #[serde(default)]
    pub operator: Option<Operator>,
}

/// An operator with its ClusterOperator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// Name of the ClusterOperator.
    pub cluster_operator: String,
    /// Namespace of its Deployment.
    pub namespace: String,
    /// Name of its Deployment.
    pub deployment: String,
    /// Names in `status.versions` beside `operator`.
    #[serde(default)]
    pub operands: Vec<String>,
    /// Shortest and longest time that a rollout to another release takes, in seconds.
    pub rollout_seconds: (u64, u64),
    /// What it says beyond what all operators do, when all is well.
    #[serde(default)]
    pub says: Vec<Said>,
    /// What its manifest says that it is to report in `status.versions`, where there is a manifest.
    #[serde(skip)]
    pub versions: Option<Vec<(String, String)>>,
    /// What its manifest says in `status.relatedObjects`, where there is a manifest.
    #[serde(skip)]
    pub related_objects: Option<Value>,
    /// The ServiceAccount that it runs as, where its Deployment names one.
    #[serde(skip)]
    pub account: Account,
}

/// As whom an operator writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Account {
    /// As the ServiceAccount that is called like its Deployment.
    #[default]
    OfDeployment,
    /// As this ServiceAccount, which the payload binds to a role.
    Named(String),
    /// As an administrator: the payload does not tell what it may do.
    Unknown,
}

impl Release {
    /// The operators that it brings.
    pub fn operators(&self) -> impl Iterator<Item = &Operator> {
        self.components.iter().filter_map(|component| component.operator.as_ref())
    }

    /// The operator of the ClusterOperator of this name.
    pub fn operator(&self, cluster_operator: &str) -> Option<&Operator> {
        self.operators().find(|operator| operator.cluster_operator == cluster_operator)
    }

    /// The release of this version, with the facts of its minor.
    ///
    /// # Errors
    /// There are no facts for its minor.
    pub fn find(version: &Version) -> Result<Self, UnknownRelease> {
        let facts = FACTS.get(&(version.major, version.minor)).ok_or_else(|| UnknownRelease::of(version))?;
        let digest = Sha256::digest(format!("windtunnel {version}"));
        let serial = 1000 + u32::from(u16::from_be_bytes([digest[0], digest[1]])) % 9000;
        Ok(Self {
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
            payload: None,
        })
    }

    /// The release of this version with the manifests of `payload`, which tell better than the facts of its minor what
    /// they tell at all.
    ///
    /// # Errors
    /// As [`Release::find`].
    pub fn with_payload(version: &Version, payload: Arc<Payload>) -> Result<Self, UnknownRelease> {
        let mut release = Self::find(version)?;
        release.kubernetes_minor = payload.kubernetes_minor.unwrap_or(release.kubernetes_minor);
        if !payload.channels.is_empty() {
            release.channels.clone_from(&payload.channels);
        }
        if !payload.url.is_empty() {
            release.url.clone_from(&payload.url);
        }
        release.components = operators::components(&release, &payload).into();
        release.payload = Some(payload);
        Ok(release)
    }

    /// The same release for these machines. All machines of a run that has one architecture have the same, so only the image
    /// for several is another one.
    #[must_use]
    pub fn of(self, architecture: Architecture) -> Self {
        let image = if architecture == Architecture::Multi { self.multi_image() } else { self.image.clone() };
        Self { image, architecture, ..self }
    }

    /// Pull specification of its image for several architectures.
    pub fn multi_image(&self) -> String {
        pullspec(&Sha256::digest(format!("windtunnel {} multi", self.version)))
    }

    /// The minors that there are facts for, ascending.
    pub fn lines() -> impl Iterator<Item = Line> {
        FACTS.keys().copied()
    }

    /// The release as ClusterVersion's status shows it, in `desired` and `availableUpdates`.
    pub fn as_status(&self) -> Value {
        let mut status = json!({
            "version": self.version.to_string(),
            "image": self.image,
            "url": self.url,
            "channels": self.channels,
        });
        self.tell_architecture(&mut status);
        status
    }

    /// Adds that it is for several architectures to what a status says of it, which has a place for that from 4.21 on.
    pub fn tell_architecture(&self, status: &mut Value) {
        if self.architecture == Architecture::Multi && self.line() >= (4, 21) {
            status["architecture"] = json!(self.architecture.in_cluster_version());
        }
    }

    /// The version that a ClusterOperator reports of an operand: Kubernetes' own for Kubernetes' programs, the operator's
    /// image for the machine-config operator's, else that of the release.
    pub fn operand_version(&self, operand: &str) -> String {
        match operand {
            "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" => {
                format!("1.{}.{}", self.kubernetes_minor, self.version.patch)
            }
            "operator-image" => self.image_of("machine-config-operator"),
            _ => self.version.to_string(),
        }
    }

    /// What an operator of this release reports in `status.versions`: by its manifest, or of its operands and itself.
    pub fn versions_of(&self, operator: &Operator) -> Vec<(String, String)> {
        let of_facts = || {
            let operands = operator.operands.iter().map(|name| (name.clone(), self.operand_version(name)));
            operands.chain([("operator".to_owned(), self.version.to_string())]).collect()
        };
        operator.versions.clone().unwrap_or_else(of_facts)
    }

    /// Whether its payload defines the custom resource of this plural and group.
    pub fn defines(&self, crd: &str) -> bool {
        match &self.payload {
            Some(payload) => payload.manifests.iter().any(|manifest| {
                manifest.object["kind"] == "CustomResourceDefinition"
                    && manifest.object["metadata"]["name"] == crd
            }),
            None => self.components.iter().any(|component| component.crds.iter().any(|name| name == crd)),
        }
    }

    /// Major and minor of its version: `(4, 14)` for `4.14.8`.
    pub fn line(&self) -> Line {
        (self.version.major, self.version.minor)
    }
}

fn pullspec(digest: &[u8]) -> String {
    format!("{REPOSITORY}@sha256:{}", text::hex(digest))
}

/// Channels of a minor, sorted; only even minors have extended update support.
fn channels((major, minor): Line) -> Vec<String> {
    ["candidate", "eus", "fast", "stable"]
        .iter()
        .filter(|name| **name != "eus" || minor.is_multiple_of(2))
        .map(|name| format!("{name}-{major}.{minor}"))
        .collect()
}

/// A version that no facts are known for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown release {version}: there are facts for {known}{hint}")]
pub struct UnknownRelease {
    /// What was asked for.
    pub version: String,
    /// The minors that are known, joined by commas.
    pub known: String,
    /// `; did you mean ...?` with the nearest known version, or nothing.
    pub hint: String,
}

impl UnknownRelease {
    fn of(version: &Version) -> Self {
        let minors: Vec<String> = Release::lines().map(facts::name).collect();
        let asked = version.to_string();
        let rest = asked.splitn(3, '.').nth(2).unwrap_or_default();
        let versions: Vec<String> = minors.iter().map(|minor| format!("{minor}.{rest}")).collect();
        let hint = text::did_you_mean(&asked, versions.iter().map(String::as_str));
        Self { version: asked, known: minors.join(", "), hint }
    }
}

#[cfg(test)]
mod tests;
