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
    INFRASTRUCTURES, MACHINE_CONFIG_NODES, MACHINE_CONFIG_POOLS, MACHINE_OS_BUILDS, MACHINE_OS_CONFIGS,
    NODES, PODS,
};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write, condition, pod, pool};

use self::choice::Choice;
use super::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, DESIRED_CONFIG, DESIRED_IMAGE, REASON, STATE, UPDATE_IN_PROGRESS,
};
use super::layering::Layering;
use super::node::{NodeState, Target, TargetImage, taints};
use super::{NAMESPACE, config_node, controller_line, membership, pool_events};
use crate::environment::image_builds;
use crate::marks;
pub(super) use pool_status::status;

/// How long it waits for further changes.
const DEBOUNCE: SignedDuration = SignedDuration::from_secs(5);

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
            let events = self.events.entry(key.clone()).or_insert_with(|| pool_events(pool));
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

/// The nodes to update next.
fn choose<'a>(pool: &Object, members: &'a Members, target: Target<'_>, view: &'a View) -> Choice<'a> {
    let setting = if pool.name() == "arbiter" { &Value::Null } else { &pool["spec"]["maxUnavailable"] };
    let Some(max) = choice::max_unavailable(setting, members.len()) else { return Choice::default() };
    let deferred = (pool.name() == membership::MASTER).then(|| operator_node(view)).flatten();
    choice::choose(members, target, max, deferred)
}

/// The node of the machine-config operator.
fn operator_node(view: &View) -> Option<&str> {
    view.list_in(&PODS, NAMESPACE)
        .find(|pod| pod.label("k8s-app") == Some("machine-config-operator"))
        .map(|pod| pod::node_name(pod))
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

/// The write of the control plane's topology to a node, if it is known.
fn set_topology(node: &str, view: &View) -> Option<Write> {
    let topology = view.get(&INFRASTRUCTURES, "", "cluster")?.text("/status/controlPlaneTopology");
    let patch = json!({ "metadata": { "annotations": { (CONTROL_PLANE_TOPOLOGY): topology } } });
    (!topology.is_empty()).then(|| Write::merge_patch(&NODES, "", node, patch))
}

/// The write that adds or removes the taint of nodes that wait for their update.
fn mark(name: &str, member: &NodeState, target: Target<'_>, view: &View) -> Option<Write> {
    let waits = !member.is_targeted(target);
    if waits == member.tainted {
        return None;
    }
    let node = view.get(&NODES, "", name)?;
    let mut list: Vec<Value> =
        taints(node).filter(|taint| taint["key"] != UPDATE_IN_PROGRESS).cloned().collect();
    if waits {
        list.push(json!({ "key": UPDATE_IN_PROGRESS, "effect": "PreferNoSchedule" }));
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

/// The Events about changed annotations of a control-plane node.
fn annotated(change: &Change) -> Vec<Notice> {
    let Some(old) = &change.old else { return Vec::new() };
    let annotation = |object: &Object, key: &str| object.annotation(key).unwrap_or_default().to_owned();
    let notices = [CURRENT_CONFIG, DESIRED_CONFIG, STATE, REASON].into_iter().filter_map(|key| {
        let value = annotation(&change.object, key);
        (annotation(old, key) != value).then(|| {
            Notice::normal("AnnotationChange", format!("Node {} now has {key}={value}", change.key.name))
        })
    });
    notices.collect()
}

/// The Event when the update of a pool starts or completes.
fn update_event(pool: &Object, status: &Value, layering: Option<&Layering<'_>>) -> Option<Notice> {
    let is = |kind: &str| {
        let list = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        condition::is_true_in(list, kind) && !condition::is_true(pool, kind)
    };
    let name = pool.name();
    let target = image_build::target_text(pool::desired_config(pool), layering);
    if is("Updating") {
        Some(Notice::normal("Updating", format!("Pool {name} now targeting {target}")))
    } else if is("Updated") {
        Some(Notice::normal("Completed", format!("Pool {name} has completed update to {target}")))
    } else {
        None
    }
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
        let layering = Layering::of(pool, view);
        let layering = layering.as_ref();
        let target = Target::new(config, layering);
        let none = Members::new();
        let members = self.pools.get(pool.name()).unwrap_or(&none);
        let mut writes = Vec::new();
        let mut notices = Vec::new();
        let news = members.iter().filter(|(_, member)| !member.knows_topology);
        writes.extend(news.filter_map(|(name, _)| set_topology(name, view)));
        let may_update = layering.is_none_or(Layering::can_roll_out);
        if !pool::is_paused(pool) && may_update {
            writes.extend(members.iter().filter_map(|(name, member)| mark(name, member, target, view)));
            let turn = choose(pool, members, target, view);
            marks::OPERATOR_NODE_DEFERRED.reach_if(turn.deferred.is_some());
            notices.extend(turn.deferred.map(deferring));
            notices.extend(targeted(&turn.nodes, target));
            let set_target = |name| set_target(name, members.get(name), target);
            writes.extend(turn.nodes.into_iter().map(set_target));
        }
        let is_behind = || members.values().any(|member| !member.is_targeted(target));
        marks::PAUSED_POOL_BEHIND.reach_if(pool::is_paused(pool) && is_behind());
        let status = status(pool, members, layering, controller_line(view), now);
        if pool["status"] != status {
            notices.extend(update_event(pool, &status, layering));
            let mut value = pool.to_value();
            value["status"] = status;
            writes.push(Write::update_status(&MACHINE_CONFIG_POOLS, value));
        }
        let events = self.events.entry(key.clone()).or_insert_with(|| pool_events(pool));
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
