//! `windtunnel run --start-from`: starts a run from the cluster of a dump.
//!
//! The simulated components know only the API objects, so they cannot continue an operation of the real ones.
//! A run therefore starts after the last completed update, and repeats an update in progress.

mod failures;
mod left_out;
mod pools;
mod revisions;
mod storage;
mod taken;
mod unready;

use std::collections::BTreeMap;
use std::path::Path;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::registry::digest_of;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, INFRASTRUCTURES,
    MACHINE_CONFIG_POOLS, NODES,
};
use windtunnel_core::{Object, Resource, node};
use windtunnel_openshift::manifests;
use windtunnel_openshift::release::Release;

use self::pools::Pools;
use self::storage::Storage;
use self::taken::Taken;
use super::dump_files::cluster::Dumped;
use super::print_notice;
use crate::cli::output::Shown as _;
use crate::dump::{Facts, made_at};
use crate::plan::{
    Action, ClusterPlan, LeftOut, NodePlan, ObjectRef, PLATFORMS, Past, Plan, PlannedObject, PlannedStep,
    Platform, ReleasePlan, Step, Target,
};

/// Labels that every node gets anyway. `node-role.kubernetes.io/worker` is not among them, because
/// control-plane nodes may have it as well.
const OWN_LABELS: [&str; 4] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/control-plane",
];

/// The parts of a dump that a run uses.
pub(super) struct StartFrom {
    cluster: ClusterPlan,
    /// Steps before those of the scenario.
    steps: Vec<(String, Step)>,
    /// Notices about used and ignored parts of the dump.
    notices: Vec<String>,
    /// Objects that the API server of the copy does not store, with its reasons.
    malformed: Vec<(Object, String)>,
    /// The release of an update in progress.
    unfinished: Option<Version>,
}

impl StartFrom {
    /// Reads a dump or a record. `ignored`: the kinds of objects that can hold an update up, and that the user accepts as left
    /// out.
    ///
    /// # Errors
    /// Nothing can be read, or windtunnel cannot simulate the cluster.
    pub(super) fn read(path: &Path, ignored: &[String]) -> Result<Self, String> {
        Self::of(&Dumped::read(path, None)?.without_secrets(), path, ignored)
    }

    /// As [`Self::read`], for a dump without the values of Secrets that was read from `path`.
    ///
    /// # Errors
    /// Windtunnel cannot simulate the cluster.
    pub(super) fn of(dumped: &Dumped, path: &Path, ignored: &[String]) -> Result<Self, String> {
        let objects: Vec<&Object> = dumped.objects.iter().map(|(_, object)| object).collect();
        let file_of = |resource: &Resource, name: &str| {
            let is_it = |object: &Object| resource.is_kind_of(object) && object.name() == name;
            dumped.objects.iter().find(|(_, object)| is_it(object)).map(|(file, _)| file.clone())
        };
        let mut start = Self::from_objects(&objects).map_err(|why| {
            let file = file_of(&CLUSTER_VERSIONS, "version").unwrap_or_else(|| path.shown());
            format!("{file}: {why}")
        })?;
        let malformed = std::mem::take(&mut start.malformed);
        start.cluster.past.left_out =
            left_out::find(&dumped.objects, &start.cluster.past.objects, &malformed, ignored);
        start.cluster.past.file = file_of(&CLUSTER_VERSIONS, "version");
        let nodes = dumped.objects.iter().filter(|(_, object)| NODES.is_kind_of(object));
        let files: BTreeMap<&str, &String> = nodes.map(|(file, node)| (node.name(), file)).collect();
        for node in &mut start.cluster.past.nodes {
            node.file = files.get(node.name.as_str()).map(|file| (*file).clone());
        }
        let problems = dumped.problems.iter().map(|problem| format!("not read: {problem}"));
        let notices = problems.chain(dumped.summary(path)).chain(start.notices).collect();
        Ok(Self { notices, ..start })
    }

    fn from_objects(objects: &[&Object]) -> Result<Self, String> {
        let version = all_of(objects, &CLUSTER_VERSIONS).find(|object| object.name() == "version");
        let version = version.ok_or("expected ClusterVersion `version`, found none")?;
        let history = version.list("/status/history");
        let completed = last_finished(version, objects)
            .ok_or("expected a completed update in its history, found none")?;
        let release = release(&history[completed])?;
        let facts = Facts::of(objects.iter().copied());
        let mut storage = Storage::new(&release, &facts.feature_set, &taken::definitions());
        let (objects, mut malformed) = without_malformed(objects, &mut storage);
        let objects = objects.as_slice();
        let all = |resource: &Resource| all_of(objects, resource);
        let (mut steps, mut notices) = (Vec::new(), Vec::new());
        let made = made_at(objects.iter().copied()).unwrap_or(Time::UNIX_EPOCH);
        let taken = take_users(objects, &mut storage, made, &mut notices);
        malformed.extend(taken.refused().iter().cloned());
        let pools = Pools::of(all(&MACHINE_CONFIG_POOLS));
        let others = taken.pods_beside(objects);
        let mut cluster = ClusterPlan {
            channel: version.text("/spec/channel").to_owned(),
            baseline_capability_set: version.text("/spec/capabilities/baselineCapabilitySet").to_owned(),
            additional_enabled_capabilities: texts(
                version.list("/spec/capabilities/additionalEnabledCapabilities"),
            ),
            feature_set: facts.feature_set,
            past: Past {
                moment: Some(made.max(moment(all(&CLUSTER_OPERATORS).chain([version])))),
                cluster_id: Some(version.text("/spec/clusterID").to_owned()).filter(|id| !id.is_empty()),
                history: history[completed..].to_vec(),
                nodes: nodes(all(&NODES), |node| NodePlan {
                    resources: taken::resources_beside(
                        node,
                        others.get(node.name()).map_or(&[], Vec::as_slice),
                    ),
                    custom_pool: pools.of_node(node),
                    ..self::node(node)
                }),
                objects: taken.objects,
                pools: all(&MACHINE_CONFIG_POOLS).cloned().collect(),
                file: None,
                left_out: Vec::new(),
            },
            ..ClusterPlan::new(release)
        };
        notices.push(format!("release {}, from the last completed update", cluster.release.version));
        notices.extend(other_facts(&cluster.release));
        cluster.releases = known_releases(version, &mut notices);
        let unfinished = unfinished_entry(version, completed);
        let unfinished = take_unfinished(unfinished, version, &mut cluster, &mut steps, &mut notices)?;
        take_gates(all(&CONFIG_MAPS), &mut cluster, &mut notices);
        if let Some(platform) =
            all(&INFRASTRUCTURES).find(|object| object.name() == "cluster").and_then(platform)
        {
            cluster.platform = platform;
        }
        take_overrides(version, &mut steps, &mut notices);
        take_stored_versions(objects, &cluster, &mut steps, &mut notices);
        steps.splice(0..0, pools.steps);
        take_failures(objects, made, &mut cluster, &mut steps, &mut notices);
        notices.extend(pools.notices);
        count_nodes(&mut cluster, &mut notices);
        cluster.pools = pools.custom;
        notices.push(
            "not taken: certificates, alerts, and all objects not listed here; the platform's own workloads are simulated"
                .to_owned(),
        );
        Ok(Self { cluster, steps, notices, malformed, unfinished })
    }

    /// Makes a scenario start from the dump. The scenario's releases, images and objects stay, and its nodes
    /// if the dump has none.
    pub(super) fn apply(&self, plan: &mut Plan) {
        let described = std::mem::replace(&mut plan.cluster, self.cluster.clone());
        let cluster = &mut plan.cluster;
        if cluster.past.nodes.is_empty() {
            cluster.control_plane_nodes = described.control_plane_nodes;
            cluster.worker_nodes = described.worker_nodes;
        }
        cluster.update_service = described.update_service;
        cluster.node_leases |= described.node_leases;
        cluster.invariants = described.invariants;
        cluster.kubernetes_minor = described.kubernetes_minor;
        cluster.keyrings = described.keyrings;
        cluster.objects.extend(described.objects);
        cluster.shows_secrets = described.shows_secrets;
        cluster.programs = described.programs;
        let own = cluster.release.version.clone();
        let known = std::mem::take(&mut cluster.releases);
        let described = described_releases(described.releases, &known);
        cluster.releases = described.into_iter().filter(|other| other.release.version != own).collect();
        let is_new = |plan: &ReleasePlan, all: &[ReleasePlan]| {
            all.iter().all(|other| other.release.version != plan.release.version)
        };
        let known: Vec<ReleasePlan> =
            known.into_iter().filter(|plan| is_new(plan, &cluster.releases)).collect();
        cluster.releases.extend(known);
        let steps = self.steps.iter().map(|(text, step)| PlannedStep {
            line: 1,
            column: 1,
            text: text.clone(),
            step: step.clone(),
        });
        plan.timeline.splice(0..0, steps);
    }

    /// The release of an update that is in progress in the dump, and starts again.
    pub(super) fn unfinished(&self) -> Option<&Version> {
        self.unfinished.as_ref()
    }

    /// The objects that can hold an update up, and that the run does not take over.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &LeftOut> {
        self.cluster.past.left_out.iter()
    }

    /// Lines about the parts of the dump that the run uses, and those that it ignores.
    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Prints which parts of the dump the run uses, and which it ignores.
    pub(super) fn print_notices(&self) {
        for line in &self.notices {
            print_notice(&format!("start-from: {line}"));
        }
        for left in &self.cluster.past.left_out {
            let ignored = if left.is_ignored { "ignored" } else { "left out" };
            print_notice(&format!("start-from: {ignored}: {left}"));
        }
    }
}

/// The objects of a kind.
fn all_of<'a, 'o>(
    objects: &'a [&'o Object],
    resource: &Resource,
) -> impl Iterator<Item = &'o Object> + use<'a, 'o> {
    let resource = resource.clone();
    objects.iter().copied().filter(move |object| resource.is_kind_of(object))
}

/// Takes over the objects of users in a dump of this time.
fn take_users(objects: &[&Object], storage: &mut Storage, made: Time, notices: &mut Vec<String>) -> Taken {
    let mut taken = Taken::find(objects, storage);
    let unready = unready::pin(&mut taken.objects, made);
    notices.extend(taken.notices().into_iter().chain(unready));
    taken
}

/// The objects without nodes and gates that the API server of the copy does not store; and those, with its reasons.
fn without_malformed<'o>(
    objects: &[&'o Object],
    storage: &mut Storage,
) -> (Vec<&'o Object>, Vec<(Object, String)>) {
    let mut malformed = Vec::new();
    let mut is_stored = |object: &Object| {
        let is_tried = NODES.is_kind_of(object) || CONFIG_MAPS.is_kind_of(object) && is_of_gates(object);
        let problem = is_tried.then(|| storage.store([object.clone()]).err()).flatten();
        let is_stored = problem.is_none();
        malformed.extend(problem.map(|why| (object.clone(), why)));
        is_stored
    };
    let stored = objects.iter().copied().filter(|object| is_stored(object)).collect();
    (stored, malformed)
}

/// The ConfigMaps with the admin gates and their acknowledgements.
const GATES: [(&str, &str); 2] =
    [("openshift-config-managed", "admin-gates"), ("openshift-config", "admin-acks")];

fn is_of_gates(map: &Object) -> bool {
    GATES.contains(&(map.namespace(), map.name()))
}

/// Returns a notice if there are no facts for the minor of a release.
pub(super) fn other_facts(release: &Release) -> Option<String> {
    let (line, facts) = (release.line(), Release::line_of_facts(&release.version));
    let age = if line < facts { "older" } else { "newer" };
    (line != facts).then(|| {
        format!(
            "{} is {age} than the releases that windtunnel knows: it has the facts of the nearest minor, {}.{}",
            release.version, facts.0, facts.1
        )
    })
}

/// Returns the release of a history entry, or of an available update, with the facts of the nearest minor.
fn release(entry: &Value) -> Result<Release, String> {
    let text = |field: &str| entry[field].as_str().unwrap_or_default();
    let version = text("version").parse();
    let version =
        version.map_err(|_| format!("expected a version such as 4.14.8, found `{}`", text("version")))?;
    let release = Release::nearest(&version);
    let image =
        if digest_of(text("image")).is_some() { text("image").to_owned() } else { release.image.clone() };
    Ok(Release { image, ..release })
}

/// A step before those of a scenario, with its text.
type Steps = Vec<(String, Step)>;

/// Starts an update in progress again, and returns its release.
fn take_unfinished(
    unfinished: Option<&Value>,
    version: &Object,
    cluster: &mut ClusterPlan,
    steps: &mut Steps,
    notices: &mut Vec<String>,
) -> Result<Option<Version>, String> {
    let Some(unfinished) = unfinished else { return Ok(None) };
    let release = release(unfinished)?;
    let to = release.version.clone();
    if to == cluster.release.version {
        notices.push(format!("not taken: the unfinished change to another image of {to}"));
        return Ok(None);
    }
    notices.push(format!("the unfinished update to {to} starts again"));
    let force = version["spec"]["desiredUpdate"]["force"] == true;
    let step = Step::Act(Action::Update { to: Target::Image(release.image.clone()), force });
    steps.push((format!("update to {to} (from the dump)"), step));
    cluster.releases.retain(|plan| plan.release.version != to);
    cluster.releases.push(ReleasePlan::plain(release));
    Ok(Some(to))
}

/// The newest entry of the history if the update before is the last completed one.
fn unfinished_entry(version: &Object, completed: usize) -> Option<&Value> {
    version.list("/status/history").first().filter(|_| completed > 0)
}

/// Adds the faults of operators, nodes and pools that a dump of this time shows, before all other steps.
fn take_failures(
    objects: &[&Object],
    made: Time,
    cluster: &mut ClusterPlan,
    steps: &mut Vec<(String, Step)>,
    notices: &mut Vec<String>,
) {
    let (taken, release) = (&cluster.past.objects, &cluster.release);
    let failures = failures::find_failures(objects, taken, release, &cluster.feature_set, made);
    cluster.node_leases = failures.is_away;
    steps.splice(0..0, failures.steps);
    notices.extend(failures.notices);
}

/// The position of the last completed update in the history. An update whose machines do not all have the new operating system yet
/// is not finished if there was one before.
fn last_finished(version: &Object, objects: &[&Object]) -> Option<usize> {
    let history = version.list("/status/history");
    let mut completed = (0..history.len()).filter(|index| history[*index]["state"] == "Completed");
    let newest = completed.next()?;
    if newest > 0 || !pools::are_being_updated(objects) {
        return Some(newest);
    }
    Some(completed.next().unwrap_or(newest))
}

/// Takes over the parts of the payload that are not managed.
fn take_overrides(version: &Object, steps: &mut Steps, notices: &mut Vec<String>) {
    let Some(overrides) = version["spec"].get("overrides").filter(|list| !list.is_null()) else { return };
    notices.push("spec.overrides of the ClusterVersion".to_owned());
    let patch = json!({
        "apiVersion": CLUSTER_VERSIONS.api_version(),
        "kind": CLUSTER_VERSIONS.kind,
        "metadata": { "name": "version" },
        "spec": { "overrides": overrides },
    });
    steps.insert(0, ("overrides (from the dump)".to_owned(), Step::Act(Action::Apply(patch))));
}

/// Takes over stored versions that the definitions of the release do not have.
fn take_stored_versions(
    objects: &[&Object],
    cluster: &ClusterPlan,
    steps: &mut Steps,
    notices: &mut Vec<String>,
) {
    let line = Release::line_of_facts(&cluster.release.version);
    let is_known = |name: &str| manifests::crd_with(name, line, &cluster.feature_set).is_some();
    for (name, stored) in taken::lost_versions(objects).into_iter().filter(|(name, _)| is_known(name)) {
        notices.push(format!("the stored versions of definition {name}"));
        let text = format!("stored versions of {name} (from the dump)");
        let object = ObjectRef { resource: CUSTOM_RESOURCE_DEFINITIONS, namespace: String::new(), name };
        let patch = json!({ "status": { "storedVersions": stored } });
        steps.insert(0, (text, Step::Act(Action::Patch { object, patch, status: true })));
    }
}

fn count_nodes(cluster: &mut ClusterPlan, notices: &mut Vec<String>) {
    if cluster.past.nodes.is_empty() {
        return;
    }
    let masters = cluster.past.nodes.iter().filter(|node| node.is_control_plane).count();
    let workers = cluster.past.nodes.len() - masters;
    notices.push(format!("nodes: {masters} of the control plane, {workers} workers"));
    cluster.control_plane_nodes = u32::try_from(masters).unwrap_or(u32::MAX);
    cluster.worker_nodes = u32::try_from(workers).unwrap_or(u32::MAX);
}

/// Takes over the ConfigMaps with the admin gates and their acknowledgements.
fn take_gates<'a>(
    found: impl Iterator<Item = &'a Object>,
    cluster: &mut ClusterPlan,
    notices: &mut Vec<String>,
) {
    let found: Vec<&Object> = found.filter(|map| is_of_gates(map)).collect();
    let own = |map: &Object| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": map.name(), "namespace": map.namespace() },
            "data": map["data"],
        })
    };
    if let Some(gates) = found.iter().find(|map| map.name() == GATES[0].1) {
        // The gates of another build of the release would ask for more.
        cluster.release.admin_gates = gates["data"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(gate, text)| Some((gate.clone(), text.as_str()?.to_owned())))
            .collect();
    }
    let found = found.into_iter().filter(|map| !map["data"].is_null());
    cluster.objects = found.map(|map| PlannedObject { place: None, object: own(map) }).collect();
    if !cluster.objects.is_empty() {
        cluster.acknowledges_gates = false;
        notices.push("admin gates, and their acknowledgements".to_owned());
    }
}

/// Returns the releases of a scenario, with the images that the dump has for them.
fn described_releases(mut described: Vec<ReleasePlan>, known: &[ReleasePlan]) -> Vec<ReleasePlan> {
    for plan in &mut described {
        if let Some(known) = known.iter().find(|known| known.release.version == plan.release.version) {
            plan.release.image.clone_from(&known.release.image);
        }
    }
    described
}

/// Returns the releases that the cluster knows, recommended or not.
fn known_releases(version: &Object, notices: &mut Vec<String>) -> Vec<ReleasePlan> {
    let recommended = version.list("/status/availableUpdates").iter().map(|update| (update, true));
    let conditional = version.list("/status/conditionalUpdates").iter();
    let conditional: Vec<_> = conditional.map(|update| (&update["release"], false)).collect();
    if !conditional.is_empty() {
        notices.push(
            "conditional updates: the releases exist, but are not recommended; their risks are not taken"
                .to_owned(),
        );
    }
    let mut releases: Vec<ReleasePlan> = Vec::new();
    for (update, recommended) in recommended.chain(conditional) {
        match release(update) {
            Ok(release) if releases.iter().all(|known| known.release.version != release.version) => {
                releases.push(ReleasePlan { recommended, ..ReleasePlan::plain(release) });
            }
            Ok(_) => {}
            Err(why) => notices.push(format!("not taken: an available update: {why}")),
        }
    }
    releases
}

fn nodes<'a>(found: impl Iterator<Item = &'a Object>, plan: impl Fn(&Object) -> NodePlan) -> Vec<NodePlan> {
    let mut nodes: Vec<NodePlan> = found.map(plan).collect();
    nodes.sort_by(|first, second| {
        (!first.is_control_plane, &first.name).cmp(&(!second.is_control_plane, &second.name))
    });
    nodes
}

fn node(node: &Object) -> NodePlan {
    let is = |role: &str| node.label(&format!("node-role.kubernetes.io/{role}")).is_some();
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let labels = labels.filter(|(key, _)| !OWN_LABELS.contains(&key.as_str()));
    let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let annotation = |name| node.annotation(&format!("machineconfiguration.openshift.io/{name}"));
    // A node that is being updated is cordoned again when its update is repeated.
    let is_settled = annotation("currentConfig") == annotation("desiredConfig");
    let taints = node::taints(node)
        .iter()
        .filter(|taint| taint["key"].as_str().is_some_and(|key| !key.starts_with("node.kubernetes.io/")));
    NodePlan {
        labels: labels.collect(),
        taints: taints.cloned().collect(),
        is_unschedulable: node::is_unschedulable(node) && is_settled,
        ..NodePlan::new(node.name().to_owned(), is("master") || is("control-plane"))
    }
}

fn platform(infrastructure: &Object) -> Option<Platform> {
    let kind = infrastructure.text("/status/platformStatus/type");
    let kind = if kind.is_empty() { infrastructure.text("/status/platform") } else { kind };
    let kind = PLATFORMS.iter().find(|known| **known == kind)?;
    let region = infrastructure.text(&format!("/status/platformStatus/{}/region", kind.to_lowercase()));
    Some(Platform { kind: (*kind).to_owned(), region: region.to_owned() })
}

fn texts(list: &[Value]) -> Vec<String> {
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the time of the dump, which is at least the latest time in its objects.
pub(super) fn moment<'a>(objects: impl Iterator<Item = &'a Object>) -> Time {
    let fields = ["lastTransitionTime", "startedTime", "completionTime"];
    let entries = objects.flat_map(|object| object.conditions().iter().chain(object.list("/status/history")));
    let times = entries.flat_map(|entry| fields.map(|field| entry[field].as_str().and_then(parse_rfc3339)));
    times.flatten().max().unwrap_or(Time::UNIX_EPOCH)
}
