//! A plan: what a scenario or a feature asks for, as data. The engine plays it; it knows no YAML and no Gherkin.

use std::ops::RangeInclusive;

use jiff::SignedDuration;
use regex::Regex;
use semver::Version;
use serde_json::Value;

use crate::model::Resource;
use crate::model::graph::UpdateService;
use crate::model::release::Release;
use crate::model::world::Image;

/// How many control-plane nodes a cluster may have.
pub const CONTROL_PLANE_NODES: RangeInclusive<u32> = 1..=5;
/// How many workers a cluster may have; a run with more would only be slow.
pub const WORKER_NODES: RangeInclusive<u32> = 0..=2000;
/// The Kubernetes minors (1.x) whose API server can be simulated.
pub const KUBERNETES_MINORS: RangeInclusive<u32> = 24..=36;
/// The feature sets beside the default one (`FeatureGate` of openshift/api).
pub const FEATURE_SETS: &[&str] =
    &["CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade", "LatencySensitive"];

/// One scenario, ready to be played.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name for people, unique within a suite.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub description: String,
    /// Issue and test-case ids, such as `OTA-1321` or `OCP-22641`.
    pub ids: Vec<String>,
    /// Tags to select by.
    pub tags: Vec<String>,
    /// The file it was read from, as the user named it; empty when made otherwise.
    pub file: String,
    /// The cluster to begin with, and what lies outside of it.
    pub cluster: ClusterPlan,
    /// What to do and expect, in order.
    pub timeline: Vec<PlannedStep>,
}

/// The cluster to begin with.
#[derive(Debug, Clone)]
pub struct ClusterPlan {
    /// The release that the cluster runs.
    pub release: Release,
    /// Releases that exist beside it, with what the registry does for each.
    pub releases: Vec<ReleasePlan>,
    /// What the update service is told.
    pub update_service: UpdateService,
    /// Whether the cluster is installed when it begins, or its operator has everything still to install.
    pub installed: bool,
    /// Control-plane nodes.
    pub control_plane_nodes: u32,
    /// Worker nodes.
    pub worker_nodes: u32,
    /// Holds the kube-apiserver at Kubernetes 1.`minor` for the whole run; `None`: it follows the releases.
    pub kubernetes_minor: Option<u32>,
    /// `spec.featureSet` of FeatureGate `cluster`; empty for the default set.
    pub feature_set: String,
    /// `spec.channel` of ClusterVersion.
    pub channel: String,
    /// `spec.capabilities.baselineCapabilitySet`; empty for none given (vCurrent).
    pub baseline_capability_set: String,
    /// `spec.capabilities.additionalEnabledCapabilities`.
    pub additional_enabled_capabilities: Vec<String>,
    /// Keyrings in the payloads of all releases; `None` for the usual one.
    pub keyrings: Option<Vec<String>>,
    /// Objects to create at the start, beside those of every cluster.
    pub objects: Vec<PlannedObject>,
}

/// An object to create at the start.
#[derive(Debug, Clone)]
pub struct PlannedObject {
    /// Line and column in the scenario's file, from 1; `None` where a feature's step asks for it.
    pub place: Option<(usize, usize)>,
    /// The whole object, as JSON.
    pub object: Value,
}

/// A release that exists in the run.
#[derive(Debug, Clone)]
pub struct ReleasePlan {
    /// Its facts.
    pub release: Release,
    /// Whether the update service offers it.
    pub recommended: bool,
    /// Its image in the registry.
    pub image: Image,
    /// Whether the cluster holds a good signature of it in a ConfigMap, as mirroring tools leave it.
    pub signature_config_map: bool,
}

impl ReleasePlan {
    /// A release that is offered, can be pulled and is signed.
    pub fn plain(release: Release) -> Self {
        Self { release, recommended: true, image: Image::default(), signature_config_map: false }
    }
}

/// A step with the place where it was written.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the file, from 1.
    pub column: usize,
    /// The step in one line, for reports.
    pub text: String,
    /// What to do.
    pub step: Step,
}

/// One step of a timeline.
#[derive(Debug, Clone)]
pub enum Step {
    /// Do something to the cluster, as its administrator.
    Act(Action),
    /// Let virtual time pass.
    Advance(SignedDuration),
    /// Check something, now or over time.
    Expect(Expectation),
}

/// What an administrator does.
#[derive(Debug, Clone)]
pub enum Action {
    /// Requests an update, as `oc adm upgrade --to` / `--to-image` do.
    Update {
        /// Where to.
        to: Target,
        /// `spec.desiredUpdate.force`.
        force: bool,
    },
    /// Takes the update request back, as `oc adm upgrade --clear` does.
    ClearUpdate,
    /// Creates the ConfigMap that asks the update status controller to publish.
    PublishInsights,
    /// Creates an object, or merges it into the one that is there.
    Apply(Value),
    /// Deletes an object.
    Delete(ObjectRef),
}

/// Where an update goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To a release, by version.
    Version(Version),
    /// To an image.
    Image(String),
}

/// One object, or several by a name that ends in `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRef {
    /// Kind.
    pub resource: Resource,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name; a trailing `*` stands for any ending.
    pub name: String,
}

/// Something that must hold.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// What.
    pub what: What,
    /// When.
    pub when: When,
}

/// When an expectation must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this moment.
    Now,
    /// At some moment before this much virtual time has passed; the run goes on from that moment.
    Within(SignedDuration),
    /// At every moment while this much virtual time passes.
    Throughout(SignedDuration),
}

/// What must hold.
#[derive(Debug, Clone)]
pub enum What {
    /// An object is there and all checks hold for it (for one of several, by a name with `*`).
    Object(ObjectRef, Vec<Check>),
    /// No such object is there.
    Absent(ObjectRef),
    /// An insight is published and all checks hold for it.
    Insight(InsightRef, Vec<Check>),
    /// No such insight is published.
    NoInsight(InsightRef, Vec<Check>),
    /// Writes like these were made since the run began, in this order (others may stand between them).
    Writes(Vec<WriteMatch>),
    /// A condition had these statuses since the run began, one after the other and no others between.
    Statuses {
        /// Whose condition.
        of: Subject,
        /// Type of the condition.
        condition: String,
        /// The statuses.
        statuses: Vec<String>,
    },
}

/// Whose condition.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An object's.
    Object(ObjectRef),
    /// An insight's.
    Insight(InsightRef),
}

/// An insight by what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsightRef {
    /// `ClusterVersion`, `ClusterOperator`, `MachineConfigPool`, `Node` or `Health`.
    pub kind: String,
    /// Name of the resource it is about; empty: any.
    pub name: String,
}

/// One check of an object or an insight.
#[derive(Debug, Clone)]
pub enum Check {
    /// A condition of it.
    Condition {
        /// Type.
        kind: String,
        /// Status; `None`: any.
        status: Option<TextMatch>,
        /// Reason; a missing reason is empty.
        reason: Option<TextMatch>,
        /// Message; a missing message is empty.
        message: Option<TextMatch>,
    },
    /// A field, by a path such as `status.history[0].state`; numbers and booleans are compared as text.
    Field {
        /// The path.
        path: String,
        /// What must stand there; a missing field is the empty text.
        value: TextMatch,
    },
    /// A field, by path, that must not change while time passes (only with [`When::Throughout`]).
    Unchanged {
        /// The path.
        path: String,
    },
    /// The STATUS column that `oc get pods` prints.
    PodStatus(TextMatch),
}

/// How a text is compared.
#[derive(Debug, Clone)]
pub enum TextMatch {
    /// It is exactly this.
    Equals(String),
    /// It has this somewhere.
    Contains(String),
    /// The regular expression is found in it.
    Matches(Regex),
}

impl TextMatch {
    /// Reads `/a regular expression/`, or any other text as one that must be equal.
    ///
    /// # Errors
    /// Why the regular expression is none.
    pub fn read(text: &str) -> Result<Self, String> {
        let pattern = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let Some(pattern) = pattern else { return Ok(Self::Equals(text.to_owned())) };
        Regex::new(pattern).map(Self::Matches).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{text}` is no regular expression: {reason}")
        })
    }

    /// Whether `text` fits.
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::Contains(wanted) => text.contains(wanted),
            Self::Matches(pattern) => pattern.is_match(text),
        }
    }
}

impl std::fmt::Display for TextMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equals(wanted) => write!(f, "`{wanted}`"),
            Self::Contains(wanted) => write!(f, "a text with `{wanted}`"),
            Self::Matches(pattern) => write!(f, "/{pattern}/"),
        }
    }
}

/// A write as the record holds it; what is `None` or empty does not matter.
#[derive(Debug, Clone, Default)]
pub struct WriteMatch {
    /// Who made it, such as `cluster-version-operator`.
    pub by: Option<TextMatch>,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: Option<String>,
    /// Which object.
    pub object: Option<ObjectRef>,
    /// `Some("")`: the object itself; `Some("status")`: its status.
    pub subresource: Option<String>,
    /// HTTP status code of the answer.
    pub code: Option<u16>,
    /// The refusal's message.
    pub message: Option<TextMatch>,
    /// Checks of the object after the write.
    pub checks: Vec<Check>,
}
