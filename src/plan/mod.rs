//! The plan: the content of a scenario or a feature as plain data. The engine runs plans and knows neither
//! YAML nor Gherkin.
//!
//! * `action.rs`: what an administrator or the test does (`update`, `fault`, `patch` ...). `src/scenario/timeline/`
//!   parses it, `src/engine/act.rs` performs it
//! * `mod.rs`: [`Step`], with the steps that are no actions (`advance`, `keep`, `expect`), which
//!   `src/engine/session.rs` runs
//! * `expected.rs`: expectations; those about the requests of clients are in `client_requests.rs`, the comparison with
//!   an earlier state in `restoration.rs`
//! * `invariants.rs`: the invariants that every run checks
//! * `faults.rs`: the targets and kinds of faults; `crd_fault.rs` has conflicts between definitions
//! * `programs.rs`: the programs of the user and their places
//! * `text_difference.rs`: expected texts that `--update` replaces
//! * `past.rs`: the past of a cluster that a run continues (`--start-from`)

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use jiff::SignedDuration;
use semver::Version;
use serde_json::Value;
use windtunnel_controllers::PayloadWorkloads;
use windtunnel_controllers::registry::{Image, Workloads};
use windtunnel_core::Resource;
use windtunnel_core::resources::SECRETS;
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::oc::Gates;
use windtunnel_openshift::promql::Sample;
use windtunnel_openshift::release::{Architecture, Release};
use windtunnel_update_status::status::Details;

mod action;
mod client_requests;
mod crd_fault;
mod expected;
mod faults;
mod field_path;
mod invariants;
mod past;
pub mod path;
pub mod placeholders;
mod pool;
mod programs;
mod restoration;
mod since;
mod text_difference;
mod update_phases;

pub use action::Action;
pub use client_requests::{Leadership, RequestLimit};
pub use crd_fault::CrdFault;
pub(crate) use expected::pod_prefix;
pub use expected::{
    AlertMatch, Check, Expectation, ExpectedState, ExpectedTime, InsightRef, LogMatch, MetricMatch, Snapshot,
    StatusMatch, Subject, TextMatch, WriteMatch,
};
pub use faults::{FaultEvent, FaultTarget, InjectedFault};
pub use field_path::FieldPath;
pub use invariants::Invariant;
pub use past::{LeftOut, NodePlan, Past};
pub use pool::{PoolPlan, node_names};
pub use programs::{Permission, ProgramPlace, ProgramPlan, ProgramTime, Variables, scripts};
pub use restoration::{Ignored, IgnoredObjects, PastState, Restoration};
pub use since::Since;
pub use text_difference::{Differences, TextDifference, TextPlace};

/// The allowed numbers of control-plane nodes.
pub const CONTROL_PLANE_NODES: RangeInclusive<u32> = 1..=5;
/// The allowed numbers of workers; a larger cluster would only be slow.
pub const WORKER_NODES: RangeInclusive<u32> = 0..=5000;
/// The Kubernetes minors (1.x) whose API server windtunnel simulates.
pub const KUBERNETES_MINORS: RangeInclusive<u32> = 23..=36;
/// The feature sets other than the default (`FeatureGate` of openshift/api).
pub const FEATURE_SETS: &[&str] =
    &["CustomNoUpgrade", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade", "LatencySensitive"];
/// The platforms of clusters (`PlatformType` of openshift/api).
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
/// The platforms whose status contains a region.
pub const PLATFORMS_WITH_REGION: &[&str] = &["AWS", "AlibabaCloud", "GCP", "PowerVS"];

/// A scenario that is ready to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Display name, unique within a suite.
    pub name: String,
    /// The purpose of the scenario, in a sentence or two.
    pub description: String,
    /// Issue and test-case ids, such as `OTA-1321` or `OCP-22641`.
    pub ids: Vec<String>,
    /// Tags for selecting scenarios.
    pub tags: Vec<String>,
    /// Whether an expectation with `within` fails if it has held since before the last actions; `None` leaves it to the command.
    pub strict: Option<bool>,
    /// The path of the source file as the user typed it; empty for a plan without a file.
    pub file: String,
    /// The initial cluster and its external services.
    pub cluster: ClusterPlan,
    /// The actions and expectations, in order.
    pub timeline: Vec<PlannedStep>,
}

impl Plan {
    /// A plan without a name and without a file.
    pub fn new(cluster: ClusterPlan, timeline: Vec<PlannedStep>) -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            ids: Vec::new(),
            tags: Vec::new(),
            strict: None,
            file: String::new(),
            cluster,
            timeline,
        }
    }

    /// Returns the Secrets in the objects and steps, and the patches of Secrets.
    pub fn secrets(&self) -> Vec<&Value> {
        let objects = self.cluster.objects.iter().map(|planned| &planned.object);
        let mut found: Vec<&Value> = objects.filter(|object| SECRETS.is_kind_of(object)).collect();
        add_secrets(&self.timeline, &mut found);
        found
    }
}

/// The initial cluster.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the cluster of its own, with a key in scenarios"
)]
pub struct ClusterPlan {
    /// The installed release.
    pub release: Release,
    /// The other releases that exist, with the registry's behavior for each.
    pub releases: Vec<ReleasePlan>,
    /// Images that belong to no release.
    pub workloads: Workloads,
    /// Samples of metrics that no component of windtunnel exports.
    pub metrics: Vec<Sample>,
    /// The update service: its channels, edges and risks.
    pub update_service: UpdateService,
    /// Whether the cluster starts installed; otherwise the CVO installs it during the run.
    pub installed: bool,
    /// Control-plane nodes.
    pub control_plane_nodes: u32,
    /// Worker nodes, without those in custom pools.
    pub worker_nodes: u32,
    /// Custom pools with nodes of their own.
    pub pools: Vec<PoolPlan>,
    /// Labels of single nodes in addition to those of every node, by node name.
    pub node_labels: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether the administrator has acknowledged the admin gates of all releases before the run.
    pub acknowledges_gates: bool,
    /// Architectures of machines that differ from the cluster's, by node name.
    pub node_architectures: BTreeMap<String, Architecture>,
    /// Whether the kubelets renew their Leases, each every ten seconds, and the update status controllers elect a leader.
    pub node_leases: bool,
    /// How workloads of releases run.
    pub payload_workloads: PayloadWorkloads,
    /// The platform of the nodes.
    pub platform: Platform,
    /// Pins the kube-apiserver at Kubernetes 1.`minor` for the whole run; `None` follows the releases.
    pub kubernetes_minor: Option<u32>,
    /// `spec.featureSet` of FeatureGate `cluster`; empty for the default.
    pub feature_set: String,
    /// `spec.channel` of ClusterVersion.
    pub channel: String,
    /// `spec.capabilities.baselineCapabilitySet`; empty leaves it unset (vCurrent).
    pub baseline_capability_set: String,
    /// `spec.capabilities.additionalEnabledCapabilities`.
    pub additional_enabled_capabilities: Vec<String>,
    /// Keyrings in the payloads of all releases; `None` for the default one.
    pub keyrings: Option<Vec<String>>,
    /// Whether the update status controller publishes from the start, whatever the feature set is.
    pub insights: bool,
    /// Objects to create at the start, in addition to those of every cluster.
    pub objects: Vec<PlannedObject>,
    /// The state from before the run.
    pub past: Past,
    /// Simulated components that the cluster does not have, by their names.
    pub without: BTreeSet<String>,
    /// Programs of this machine as parts of the cluster.
    pub programs: Vec<ProgramPlan>,
    /// The invariants to check.
    pub invariants: BTreeSet<Invariant>,
    /// Whether the values of Secrets are in output and records.
    pub shows_secrets: bool,
}

impl ClusterPlan {
    /// Returns an installed cluster of three control-plane nodes and three workers, with defaults for the
    /// rest.
    pub fn new(release: Release) -> Self {
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
            pools: Vec::new(),
            node_labels: BTreeMap::new(),
            acknowledges_gates: true,
            node_architectures: BTreeMap::new(),
            node_leases: false,
            payload_workloads: PayloadWorkloads::default(),
            platform: Platform::default(),
            kubernetes_minor: None,
            feature_set: String::new(),
            baseline_capability_set: String::new(),
            additional_enabled_capabilities: Vec::new(),
            keyrings: None,
            insights: false,
            objects: Vec::new(),
            past: Past::default(),
            without: BTreeSet::new(),
            programs: Vec::new(),
            invariants: Invariant::all(),
            shows_secrets: false,
        }
    }

    /// Returns the number of all nodes that are no control-plane nodes.
    pub fn all_workers(&self) -> u32 {
        self.worker_nodes + self.pools.iter().map(|pool| pool.count).sum::<u32>()
    }

    /// Returns the names of the planned nodes, the control plane first.
    pub fn node_names(&self) -> Vec<String> {
        node_names(self.control_plane_nodes, self.worker_nodes, &self.pools)
    }

    /// Returns whether `objects` contains one of this kind, namespace and name.
    pub fn has(&self, object: &Value) -> bool {
        let at = |object: &Value, field: &str| object["metadata"][field].clone();
        let same = |other: &Value| {
            other["kind"] == object["kind"]
                && ["namespace", "name"].iter().all(|field| at(other, field) == at(object, field))
        };
        self.objects.iter().any(|planned| same(&planned.object))
    }
}

/// The platform of a cluster, as in its Infrastructure object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// The platform, one of [`PLATFORMS`].
    pub kind: String,
    /// Its region; empty if there is none.
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
    /// Line and column in the scenario's file, from 1; `None` for an object from a feature's step.
    pub place: Option<(usize, usize)>,
    /// The whole object, as JSON.
    pub object: Value,
}

/// A release that exists in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasePlan {
    /// Its facts.
    pub release: Release,
    /// The version of its payload, if that differs.
    pub payload_version: Option<Version>,
    /// Whether the update service recommends it.
    pub recommended: bool,
    /// Its image in the registry.
    pub image: Image,
    /// Whether a ConfigMap in the cluster contains a valid signature of it, as mirroring tools leave it.
    pub signature_config_map: bool,
}

impl ReleasePlan {
    /// Returns a release that is recommended, signed and can be pulled.
    pub fn plain(release: Release) -> Self {
        let image = Image::default();
        Self { release, payload_version: None, recommended: true, image, signature_config_map: false }
    }
}

/// A step with its position in the file.
#[derive(Debug, Clone)]
pub struct PlannedStep {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the file, from 1.
    pub column: usize,
    /// The step in one line, for reports.
    pub text: String,
    /// The action or expectation.
    pub step: Step,
}

/// One step of a timeline.
#[derive(Debug, Clone)]
pub enum Step {
    /// Perform an action as the cluster's administrator.
    Act(Action),
    /// Send a request that the API server must reject.
    Try(Attempt),
    /// Run an `oc` command as the cluster's administrator.
    Run(Run),
    /// Let virtual time pass.
    Advance(SignedDuration),
    /// Let virtual time pass until this long after the start.
    At(SignedDuration),
    /// Check something, now or over time.
    Expect(Expectation),
    /// Store a value for later steps.
    Keep(Keep),
    /// Store the state of the cluster under this name, for [`PastState::Kept`].
    KeepCluster(String),
    /// Repeat steps until they pass.
    Retry(Retry),
}

/// Adds the Secrets in steps, and the patches of Secrets.
fn add_secrets<'p>(steps: &'p [PlannedStep], found: &mut Vec<&'p Value>) {
    for planned in steps {
        match &planned.step {
            Step::Act(action) | Step::Try(Attempt { action, .. }) => found.extend(action.written_secret()),
            Step::Retry(retry) => add_secrets(&retry.steps, found),
            _ => {}
        }
    }
}

/// A request that the API server must reject, and the expected message.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The request.
    pub action: Action,
    /// Texts that the rejection's message must match, all of them; empty accepts any message.
    pub refused: Vec<TextMatch>,
}

/// A command and its expected result.
#[derive(Debug, Clone)]
pub struct Run {
    /// The command.
    pub command: CommandLine,
    /// The checks of its result.
    pub checks: Vec<CommandCheck>,
}

/// A command line: `oc adm upgrade ...` or `oc get ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The line as the user wrote it.
    pub line: String,
    /// The program.
    pub program: Program,
    /// The arguments after `oc adm upgrade` or `oc get`, with images filled in.
    pub words: Vec<String>,
    /// The feature gates that its environment variables open.
    pub gates: Gates,
}

impl CommandLine {
    /// A script of the user, for `sh -c`.
    pub fn of_script(script: String) -> Self {
        Self { line: script, program: Program::Shell, words: Vec::new(), gates: Gates::default() }
    }
}

/// A program that an administrator can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `oc adm upgrade`, without `status`.
    Upgrade,
    /// `oc adm upgrade status`, with this choice of detailed sections.
    Status(Details),
    /// `oc get`.
    Get,
    /// `sh -c` with the line: a script of the user, on this machine.
    Shell,
}

/// A check of a command's result. Trailing line breaks of the output are ignored.
#[derive(Debug, Clone)]
pub enum CommandCheck {
    /// Its exit code.
    Code(u8),
    /// Its standard output.
    Prints(TextMatch),
    /// Its standard error.
    Warns(TextMatch),
    /// The error message, without the prefix `error: `.
    Refused(TextMatch),
    /// Standard output followed by standard error.
    Says(TextMatch),
    /// A non-zero exit code.
    Fails,
}

/// A value that later steps refer to as `$(kept <name>)`.
#[derive(Debug, Clone)]
pub struct Keep {
    /// Its name.
    pub name: String,
    /// The source of the value.
    pub what: ValueSource,
}

/// The source of a stored value.
#[derive(Debug, Clone)]
pub enum ValueSource {
    /// Standard output of the last command, without trailing line breaks.
    Output,
    /// A field of that output, parsed as JSON or YAML, by its path.
    OutputField(String),
    /// A text, which may refer to other kept values.
    Text(String),
    /// A field of an object, by its path.
    Field(ObjectRef, String),
}

/// Steps that are repeated until all of them pass.
#[derive(Debug, Clone)]
pub struct Retry {
    /// The time limit; the last attempt happens at its end.
    pub within: SignedDuration,
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

/// The target of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A release, by version.
    Version(Version),
    /// An image, by pull specification.
    Image(String),
}

/// A reference to one object, or to several by a name that ends in `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRef {
    /// Kind.
    pub resource: Resource,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name; a trailing `*` matches any ending.
    pub name: String,
}
