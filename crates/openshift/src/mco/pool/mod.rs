//! The node controller: chooses the nodes of each pool to update next, and reports their progress in the
//! pool.

mod certificates;
mod choice;
pub(super) mod conditions;
mod image_build;
mod lines;
mod pool_status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::recorder::{Notice, Recorder};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Effect, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CONTROLLER_CONFIGS, MACHINE_CONFIG_NODES, MACHINE_CONFIG_POOLS, MACHINE_OS_BUILDS, MACHINE_OS_CONFIGS,
    NODES, PODS,
};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write, pod, pool};

use super::annotations::{CONTROL_PLANE_TOPOLOGY, DESIRED_CONFIG, DESIRED_IMAGE, UPDATE_IN_PROGRESS};
use super::layering::Layering;
use super::node::{NodeState, Target, TargetImage, UPDATE_EFFECT, is_update_taint, taints};
use super::{CONTROLLER_CONFIG, config_node, controller_line, membership, pool_events};
use crate::environment::image_builds;
use crate::manifests::MajorMinor;
use crate::marks;
pub(super) use pool_status::status;

/// How long it waits for further changes.
const DEBOUNCE: SignedDuration = SignedDuration::from_secs(5);

/// The source of its Events, and of those of the drain controller.
pub(super) const EVENT_SOURCE: &str = "machineconfigcontroller-nodecontroller";

type Members = BTreeMap<String, NodeState>;

/// The node controller, a part of the machine-config controller.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeController {
    queue: WorkQueue,
    pools: BTreeMap<String, Members>,
    /// The pool of each node.
    pool_of: BTreeMap<String, String>,
    events: BTreeMap<Key, Recorder>,
    started: bool,
}

impl NodeController {
    /// A controller that has seen no node yet.
    pub(super) fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        let mut regroup = !std::mem::replace(&mut self.started, true);
        for change in input.changes.iter().filter(|change| change.key.is_kind(&MACHINE_CONFIG_POOLS)) {
            let old = change.old.as_ref();
            regroup |= change.kind == ChangeKind::Deleted
                || old.is_none_or(|old| old["spec"]["nodeSelector"] != change.object["spec"]["nodeSelector"]);
            self.queue.add_by(change.key.clone(), input.now + DEBOUNCE);
        }
        self.notice_images(input);
        if regroup {
            self.regroup(input);
        } else {
            let is_of_node =
                |change: &&Change| change.key.is_kind(&NODES) || change.key.is_kind(&MACHINE_CONFIG_NODES);
            for change in input.changes.iter().filter(is_of_node) {
                self.notice_node(&change.key.name, input);
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    /// Queues the pools whose custom image changed.
    fn notice_images(&mut self, input: &Input<'_>) {
        for change in input.changes {
            let pool = if change.key.is_kind(&MACHINE_OS_CONFIGS) {
                Some(change.object.text("/spec/machineConfigPool/name"))
            } else if change.key.is_kind(&MACHINE_OS_BUILDS) {
                change.object.label(image_builds::POOL)
            } else {
                None
            };
            if let Some(pool) = pool {
                self.queue.add_by(MACHINE_CONFIG_POOLS.key("", pool), input.now + DEBOUNCE);
            }
        }
    }

    /// Assigns every node to its pool again.
    fn regroup(&mut self, input: &Input<'_>) {
        self.pools.clear();
        self.pool_of.clear();
        for pool in input.view.list(&MACHINE_CONFIG_POOLS) {
            self.pools.insert(pool.name().to_owned(), Members::new());
            self.queue.add_by(MACHINE_CONFIG_POOLS.key("", pool.name()), input.now + DEBOUNCE);
        }
        for node in input.view.list(&NODES) {
            self.notice_node(node.name(), input);
        }
    }

    /// Publishes annotation changes of control-plane nodes as Events about their pool, without delay.
    fn publish_annotations(&mut self, input: &Input<'_>) -> Vec<Write> {
        let mut writes = Vec::new();
        let Some(pool) = input.view.get(&MACHINE_CONFIG_POOLS, "", membership::MASTER) else { return writes };
        let key = MACHINE_CONFIG_POOLS.key_of(pool);
        for change in input.changes.iter().filter(|change| change.key.is_kind(&NODES)) {
            if self.pool_of.get(&change.key.name).is_none_or(|of| of != membership::MASTER) {
                continue;
            }
            let events = self.events.entry(key.clone()).or_insert_with(|| pool_events(pool, EVENT_SOURCE));
            events.refer_to(pool);
            for write in annotated(change).into_iter().filter_map(|notice| events.record(notice, input.now)) {
                self.queue.send(&key, write, &mut writes);
            }
        }
        writes
    }

    /// The lines about changed nodes.
    fn lines(&self, input: &Input<'_>) -> Vec<Effect> {
        let nodes = input.changes.iter().filter(|change| change.key.is_kind(&NODES));
        let in_pools = nodes.filter_map(|change| Some((change, self.pool_of.get(&change.key.name)?)));
        in_pools.flat_map(|(change, pool)| lines::about_node(change, pool, input.now)).collect()
    }

    /// Updates the state of a node, and queues its pools if it changed.
    fn notice_node(&mut self, name: &str, input: &Input<'_>) {
        let found = input.view.get(&NODES, "", name);
        let pools = membership::pools(input.view);
        // A node that several pools select belongs to none.
        let pool = found.and_then(|node| {
            let pool = membership::pool_of(node, &pools);
            marks::NODE_IN_SEVERAL_POOLS.reach_if(pool.is_err());
            pool.ok().flatten()
        });
        let before = self.pool_of.get(name).cloned();
        if before.as_deref() != pool
            && let Some(before) = before
        {
            self.pools.entry(before.clone()).or_default().remove(name);
            self.pool_of.remove(name);
            self.queue.add_by(MACHINE_CONFIG_POOLS.key("", &before), input.now + DEBOUNCE);
        }
        let (Some(node), Some(pool)) = (found, pool) else { return };
        let member = NodeState::of(node, config_node::failure(name, input.view))
            .with_pinned_images(config_node::has_pinned_images(name, input.view));
        let members = self.pools.entry(pool.to_owned()).or_default();
        if members.get(name) != Some(&member) {
            members.insert(name.to_owned(), member);
            self.pool_of.insert(name.to_owned(), pool.to_owned());
            self.queue.add_by(MACHINE_CONFIG_POOLS.key("", pool), input.now + DEBOUNCE);
        }
    }
}

/// From this minor on the pool of the arbiter updates one node at a time.
const ONE_ARBITER: MajorMinor = (5, 0);

/// The maximum of unavailable nodes in a pool. `None` for an invalid value.
fn max_unavailable(pool: &Object, nodes: usize, line: MajorMinor) -> Option<usize> {
    let is_fixed = line >= ONE_ARBITER && pool.name() == "arbiter";
    let setting = if is_fixed { &Value::Null } else { &pool["spec"]["maxUnavailable"] };
    choice::max_unavailable(setting, nodes)
}

/// The node of the machine-config operator, if exactly one pod in the cluster has its label (`getOperatorNodeName`).
fn operator_node(view: &View) -> Option<&str> {
    let has_label = |pod: &&Object| pod.label("k8s-app") == Some("machine-config-operator");
    let mut pods = view.list(&PODS).filter(has_label);
    let first = pods.next()?;
    pods.next().is_none().then(|| pod::node_name(first))
}

fn set_target(node: &str, member: Option<&NodeState>, target: Target<'_>) -> Write {
    let mut annotations = json!({ (DESIRED_CONFIG): target.config });
    if let TargetImage::Custom(image) = target.image {
        annotations[DESIRED_IMAGE] = json!(image);
    } else if member.is_some_and(|member| member.desired_image.is_some()) {
        annotations[DESIRED_IMAGE] = Value::Null;
    }
    Write::merge_patch(&NODES, "", node, json!({ "metadata": { "annotations": annotations } }))
}

/// The write of the control plane's topology in the ControllerConfig to a node with another one
/// (`setClusterConfigAnnotation`).
fn set_topology(node: &str, member: &NodeState, view: &View) -> Option<Write> {
    let config = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG)?;
    let topology = config.text("/spec/infra/status/controlPlaneTopology");
    let patch = json!({ "metadata": { "annotations": { (CONTROL_PLANE_TOPOLOGY): topology } } });
    let is_known = member.topology.as_deref().unwrap_or_default() == topology;
    (!is_known).then(|| Write::merge_patch(&NODES, "", node, patch))
}

/// The write that adds or removes the taint of nodes that wait for their update.
fn mark(name: &str, member: &NodeState, target: Target<'_>, view: &View) -> Option<Write> {
    let waits = !member.is_targeted(target);
    if waits == member.tainted {
        return None;
    }
    let node = view.get(&NODES, "", name)?;
    let mut list: Vec<Value> = taints(node).filter(|taint| !is_update_taint(taint)).cloned().collect();
    if waits {
        list.push(json!({ "key": UPDATE_IN_PROGRESS, "effect": UPDATE_EFFECT }));
    }
    let list = if list.is_empty() { Value::Null } else { Value::Array(list) };
    let guard = json!({ "resourceVersion": node.resource_version() });
    Some(Write::merge_patch(&NODES, "", name, json!({ "metadata": guard, "spec": { "taints": list } })))
}

fn targeted(chosen: &[&str], target: Target<'_>) -> Option<Notice> {
    let config = target.config;
    let (reason, target) = match target.image {
        TargetImage::Custom(image) => {
            ("SetDesiredConfigAndOSImage", format!("MachineConfig: {config} / Image: {image}"))
        }
        _ => ("SetDesiredConfig", format!("MachineConfig: {config}")),
    };
    let message = match chosen {
        [] => return None,
        [node] => format!("Targeted node {node} to {target}"),
        several => format!("Set target for {} nodes to {target}", several.len()),
    };
    Some(Notice::normal(reason, message))
}

/// The Event about the operator's node while others go first.
fn deferring(node: &str) -> Notice {
    let message = format!("Deferring update of machine config operator node {node}");
    Notice::normal("DeferringOperatorNodeUpdate", message)
}

/// The Event about a pool whose selector selects all nodes. Such a pool is not updated (`syncMachineConfigPool`).
fn selecting_all() -> Notice {
    let message = "This machineconfigpool is selecting all nodes. A non-empty selector is required.";
    Notice::warning("SelectingAll", message)
}

/// The Events about changed annotations of a control-plane node. The end of an update causes none (`updateNode`).
fn annotated(change: &Change) -> Vec<Notice> {
    let Some(old) = change.old.as_ref().filter(|old| !lines::completes_update(old, &change.object)) else {
        return Vec::new();
    };
    let name = &change.key.name;
    let notices = lines::changed_annotations(old, &change.object).map(|(key, value)| {
        let message = match value {
            Some(value) => format!("Node {name} now has {key}={value}"),
            None => format!("Node {name} no longer has {key}"),
        };
        Notice::normal("AnnotationChange", message)
    });
    notices.collect()
}

/// From this minor on an Event reports the end of an update. Before, the controller compares a pool with itself.
const REPORTS_END: MajorMinor = (4, 20);

/// The Event when all nodes of a pool have another configuration than before (`syncStatusOnly`). The controller would
/// also publish `Updating`, but only if the target changes during a sync.
fn completed(
    pool: &Object,
    status: &Value,
    layering: Option<&Layering<'_>>,
    line: MajorMinor,
) -> Option<Notice> {
    let is_same = pool["status"]["configuration"]["name"] == status["configuration"]["name"];
    (line >= REPORTS_END && !is_same).then(|| {
        let target = image_build::target_text(pool::desired_config(pool), layering);
        Notice::normal("Completed", format!("Pool {} has completed update to {target}", pool.name()))
    })
}

/// The writes and Events that continue the update of a pool.
fn continue_update(
    pool: &Object,
    members: &Members,
    target: Target<'_>,
    max_unavailable: usize,
    view: &View,
) -> (Vec<Write>, Vec<Notice>) {
    let topologies = members.iter().filter_map(|(name, member)| set_topology(name, member, view));
    let marks = members.iter().filter_map(|(name, member)| mark(name, member, target, view));
    let mut writes: Vec<Write> = topologies.chain(marks).collect();
    let deferred = (pool.name() == membership::MASTER).then(|| operator_node(view)).flatten();
    let choice = choice::choose(members, target, max_unavailable, deferred);
    marks::OPERATOR_NODE_DEFERRED.reach_if(choice.deferred.is_some());
    let mut notices: Vec<Notice> = choice.deferred.map(deferring).into_iter().collect();
    notices.extend(targeted(&choice.nodes, target));
    writes.extend(choice.nodes.into_iter().map(|name| set_target(name, members.get(name), target)));
    (writes, notices)
}

impl Reconcile for NodeController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(pool) = view.get_key(key) else { return Vec::new() };
        let config = pool::desired_config(pool);
        if config.is_empty() {
            return Vec::new();
        }
        let events = self.events.entry(key.clone()).or_insert_with(|| pool_events(pool, EVENT_SOURCE));
        events.refer_to(pool);
        if pool["spec"]["nodeSelector"] == json!({}) {
            return events.record(selecting_all(), now).into_iter().collect();
        }
        let layering = Layering::of(pool, view);
        let layering = layering.as_ref();
        let target = Target::new(config, layering);
        let none = Members::new();
        let members = self.pools.get(pool.name()).unwrap_or(&none);
        let line = controller_line(view);
        let is_behind = || members.values().any(|member| !member.is_targeted(target));
        marks::PAUSED_POOL_BEHIND.reach_if(pool::is_paused(pool) && is_behind());
        let may_update =
            !pool.is_terminating() && !pool::is_paused(pool) && layering.is_none_or(Layering::can_roll_out);
        let max_unavailable = max_unavailable(pool, members.len(), line).filter(|_| may_update);
        let update = max_unavailable.map(|max| continue_update(pool, members, target, max, view));
        let (mut writes, mut notices) = update.unwrap_or_default();
        let status = status(pool, members, layering, line, now);
        if pool["status"] != status {
            notices.extend(completed(pool, &status, layering, line));
            let mut value = pool.to_value();
            value["status"] = status;
            writes.push(Write::update_status(&MACHINE_CONFIG_POOLS, value));
        }
        writes.extend(notices.into_iter().filter_map(|notice| events.record(notice, now)));
        writes
    }
}

impl Actor for NodeController {
    fn name(&self) -> &'static str {
        "machine-config-controller/node"
    }

    fn identity(&self) -> Identity {
        super::controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds =
            [MACHINE_CONFIG_NODES, MACHINE_CONFIG_POOLS, MACHINE_OS_BUILDS, MACHINE_OS_CONFIGS, NODES];
        kinds.map(Interest::Kind).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut writes = self.publish_annotations(input);
        let mut step = self.reconcile(input);
        writes.append(&mut step.writes);
        step.writes = writes;
        step.effects = self.lines(input);
        step
    }
}
