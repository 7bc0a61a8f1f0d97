//! A plan: what a scenario or a feature asks for, as data. The engine plays it; it knows no YAML and no Gherkin.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_controllers::registry::{Image, Workloads};
use windtunnel_core::Resource;
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::oc::Gates;
use windtunnel_openshift::promql::Sample;
use windtunnel_openshift::release::{Architecture, Release};
use windtunnel_update_status::status::Details;

mod action;
mod crd_fault;
mod disturbance;
mod expected;
mod invariants;
mod past;
pub mod path;
pub mod places;

pub use action::Action;
pub use crd_fault::CrdFault;
pub use disturbance::{Disturbance, Faulty};
pub use expected::{
    AlertMatch, Check, Expectation, InsightRef, MetricMatch, Snapshot, StatusMatch, Subject, TextMatch, What,
    When, WriteMatch,
};
pub use invariants::Invariant;
pub use past::{NodePlan, Past};

/// How many control-plane nodes a cluster may have.
pub const CONTROL_PLANE_NODES: RangeInclusive<u32> = 1..=5;
/// How many workers a cluster may have; a run with more would only be slow.
pub const WORKER_NODES: RangeInclusive<u32> = 0..=5000;
/// The Kubernetes minors (1.x) whose API server can be simulated.
pub const KUBERNETES_MINORS: RangeInclusive<u32> = 24..=36;
/// The feature sets beside the default one (`FeatureGate` of openshift/api).
pub const FEATURE_SETS: &[&str] =
    &["CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade", "LatencySensitive"];
/// The platforms that clusters run on (`PlatformType` of openshift/api).
pub const PLATFORMS: &[&str] = &[
    "AWS",
    "AlibabaCloud",
    "Azure",
    "BareMetal",
    "EquinixMetal",
    "External",
    "GCP",
    "IBMCloud",
    "KubeVirt",
    "Libvirt",
    "None",
    "Nutanix",
    "OpenStack",
    "PowerVS",
    "VSphere",
    "oVirt",
];
/// Those of them that tell the region.
pub const PLATFORMS_WITH_REGION: &[&str] = &["AWS", "AlibabaCloud", "GCP", "PowerVS"];

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
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterPlan {
    /// The release that the cluster runs.
    pub release: Release,
    /// Releases that exist beside it, with what the registry does for each.
    pub releases: Vec<ReleasePlan>,
    /// What people run beside releases.
    pub workloads: Workloads,
    /// Samples of metrics that others export than components of ours.
    pub metrics: Vec<Sample>,
    /// What the update service is told.
    pub update_service: UpdateService,
    /// Whether the cluster is installed when it begins, or its operator has everything still to install.
    pub installed: bool,
    /// Control-plane nodes.
    pub control_plane_nodes: u32,
    /// Worker nodes.
    pub worker_nodes: u32,
    /// The machines of nodes, by name, that are of another architecture than the rest.
    pub node_architectures: BTreeMap<String, Architecture>,
    /// Whether their kubelets renew Leases, each every ten seconds.
    pub node_leases: bool,
    /// What the nodes run on.
    pub platform: Platform,
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
    /// Whether the update status controller runs and publishes from the start, whatever the feature set is.
    pub insights: bool,
    /// Objects to create at the start, beside those of every cluster.
    pub objects: Vec<PlannedObject>,
    /// What it brings along from before.
    pub past: Past,
    /// What must hold whatever happens.
    pub invariants: BTreeSet<Invariant>,
}

impl ClusterPlan {
    /// An installed cluster of three control-plane nodes and three workers, of which nothing else is said.
    pub fn of(release: Release) -> Self {
        Self {
            channel: format!("stable-{}.{}", release.version.major, release.version.minor),
            release,
            releases: Vec::new(),
            workloads: Workloads::default(),
            metrics: Vec::new(),
            update_service: UpdateService::default(),
            installed: true,
            control_plane_nodes: 3,
            worker_nodes: 3,
            node_architectures: BTreeMap::new(),
            node_leases: false,
            platform: Platform::default(),
            kubernetes_minor: None,
            feature_set: String::new(),
            baseline_capability_set: String::new(),
            additional_enabled_capabilities: Vec::new(),
            keyrings: None,
            insights: false,
            objects: Vec::new(),
            past: Past::default(),
            invariants: Invariant::all(),
        }
    }

    /// Whether it has an object of this kind, namespace and name beside those of every cluster.
    pub fn has(&self, object: &Value) -> bool {
        let at = |object: &Value, field: &str| object["metadata"][field].clone();
        let same = |other: &Value| {
            other["kind"] == object["kind"]
                && ["namespace", "name"].iter().all(|field| at(other, field) == at(object, field))
        };
        self.objects.iter().any(|planned| same(&planned.object))
    }
}

/// What a cluster runs on, as the Infrastructure object tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// The platform, one of [`PLATFORMS`].
    pub kind: String,
    /// Its region; empty where there is none.
    pub region: String,
}

impl Default for Platform {
    fn default() -> Self {
        Self { kind: "None".to_owned(), region: String::new() }
    }
}

/// An object to create at the start.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedObject {
    /// Line and column in the scenario's file, from 1; `None` where a feature's step asks for it.
    pub place: Option<(usize, usize)>,
    /// The whole object, as JSON.
    pub object: Value,
}

/// A release that exists in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasePlan {
    /// Its facts.
    pub release: Release,
    /// The version that its payload is of, where that is another one.
    pub payload_version: Option<Version>,
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
        let image = Image::default();
        Self { release, payload_version: None, recommended: true, image, signature_config_map: false }
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
    /// Try something that the API server must refuse.
    Try(Attempt),
    /// Run a command of the client `oc`, as its administrator.
    Run(Run),
    /// Let virtual time pass.
    Advance(SignedDuration),
    /// Let virtual time pass until so much of it has passed since the start.
    At(SignedDuration),
    /// Check something, now or over time.
    Expect(Expectation),
    /// Keep something for later steps.
    Keep(Keep),
    /// Play steps again until they pass.
    Retry(Retry),
}

/// Something that the API server must refuse, and how.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// What is tried.
    pub action: Action,
    /// What the refusal must say, all of it; empty: anything.
    pub refused: Vec<TextMatch>,
}

/// A command, and what must come of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// The command.
    pub command: CommandLine,
    /// What must come of it.
    pub checks: Vec<CommandCheck>,
}

/// A command as it is typed: `oc adm upgrade ...`, `oc get ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// All of it, as it was written.
    pub line: String,
    /// What is run.
    pub program: Program,
    /// The words after `oc adm upgrade` or `oc get`, with images filled in.
    pub words: Vec<String>,
    /// What its environment variables let it do.
    pub gates: Gates,
}

/// A program that an administrator runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `oc adm upgrade`, without `status`.
    Upgrade,
    /// `oc adm upgrade status`, with these sections in detail.
    Status(Details),
    /// `oc get`.
    Get,
}

/// One check of a command that was run. Line breaks at the end of what it printed do not count.
#[derive(Debug, Clone)]
pub enum CommandCheck {
    /// Its exit code.
    Code(u8),
    /// Its standard output.
    Prints(TextMatch),
    /// Its standard error.
    Warns(TextMatch),
    /// The error that it ended with, without `error: `.
    Refused(TextMatch),
    /// All that it printed, standard output and then standard error.
    Says(TextMatch),
    /// Its exit code is not 0.
    Fails,
}

/// Something that is kept for later steps, in which `$(kept <name>)` stands for it.
#[derive(Debug, Clone)]
pub struct Keep {
    /// Its name.
    pub name: String,
    /// What is kept.
    pub what: Kept,
}

/// What is kept.
#[derive(Debug, Clone)]
pub enum Kept {
    /// What the command that was run last printed to standard output, without line breaks at its end.
    Output,
    /// A field of an object, by its path.
    Field(ObjectRef, String),
}

/// Steps that are played again until all of them pass.
#[derive(Debug, Clone)]
pub struct Retry {
    /// How long; the last time at the end of it.
    pub within: SignedDuration,
    /// The steps.
    pub steps: Vec<PlannedStep>,
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
