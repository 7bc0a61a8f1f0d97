//! The part of the operator that creates a MachineConfigNode for each node, keeps its pool up to date, and sets the
//! MachineConfig of a node that joined without one. The garbage collector deletes those of deleted nodes.

use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CONTROLLER_CONFIGS, CUSTOM_RESOURCE_DEFINITIONS, FEATURE_GATES, MACHINE_CONFIG_NODES,
    MACHINE_CONFIG_POOLS, NODES,
};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, Resource, View, Write};

use super::super::annotations::DESIRED_CONFIG;
use super::super::{CONTROLLER_CONFIG, membership};
use super::{DEFINITION, NOT_YET_SET, key, served};
use crate::operators::identity;
use crate::release::OperatorFacts;

/// Keeps MachineConfigNodes, as part of the machine-config operator.
#[derive(Debug, Clone)]
pub(in crate::mco) struct MachineConfigNodes {
    facts: OperatorFacts,
    queue: WorkQueue,
    started: bool,
}

impl MachineConfigNodes {
    /// The part of the operator with these facts.
    pub(in crate::mco) fn new(facts: &OperatorFacts) -> Self {
        Self { facts: facts.clone(), queue: WorkQueue::default(), started: false }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) || input.changes.iter().any(affects_all_nodes) {
            self.queue_all(input.view);
        }
        for change in input.changes {
            let is_node = change.key.is_kind(&NODES)
                && (changes_field(change, "/metadata/labels") || gets_config(change));
            let is_own = change.key.is_kind(&MACHINE_CONFIG_NODES) && change.kind == ChangeKind::Deleted;
            if is_node || is_own {
                self.queue.add(NODES.key("", &change.key.name));
            }
        }
        self.queue.process_answers(input.answers, input.now);
    }

    fn queue_all(&mut self, view: &View) {
        if served(view).is_some() {
            view.list(&NODES).for_each(|node| self.queue.add(NODES.key("", node.name())));
        }
    }
}

/// Returns whether a change can affect all nodes: a pool's node selector, the release, or the CRD.
fn affects_all_nodes(change: &Change) -> bool {
    if change.key.is_kind(&MACHINE_CONFIG_POOLS) {
        return changes_field(change, "/spec/nodeSelector");
    }
    if change.key.is_kind(&NODES) || change.key.is_kind(&MACHINE_CONFIG_NODES) {
        return false;
    }
    changes_field(change, "/spec") || changes_field(change, "/metadata/annotations")
}

/// Returns whether a node gets its first MachineConfig.
fn gets_config(change: &Change) -> bool {
    let has_config = |node: &Object| desired_config(node).is_some();
    has_config(&change.object) && !change.old.as_ref().is_some_and(has_config)
}

fn desired_config(node: &Object) -> Option<&str> {
    node.annotation(DESIRED_CONFIG).filter(|name| !name.is_empty())
}

/// Returns whether a field changed.
fn changes_field(change: &Change, field: &str) -> bool {
    let value = |object: &Object| object.pointer(field).cloned();
    change.kind != ChangeKind::Modified
        || change.old.as_ref().is_none_or(|old| value(old) != value(&change.object))
}

fn machine_config_node(node: &Object, pool: &str, resource: &Resource) -> Value {
    let desired = desired_config(node).unwrap_or(NOT_YET_SET);
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {
            "name": node.name(),
            "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": node.name(), "uid": node.uid() }],
        },
        "spec": {
            "node": { "name": node.name() },
            "pool": { "name": pool },
            "configVersion": { "desired": desired },
        },
    })
}

impl Reconcile for MachineConfigNodes {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, _now: Time) -> Vec<Write> {
        let (Some(node), Some(resource)) = (view.get_key(subject), served(view)) else { return Vec::new() };
        // A node that matches several pools gets its object once it is in one pool.
        let Ok(Some(pool)) = membership::pool_of(node, &membership::pools(view)) else { return Vec::new() };
        match view.get_key(&key(node.name())) {
            None => vec![Write::create(&resource, machine_config_node(node, pool, &resource))],
            Some(there) if there.text("/spec/pool/name") != pool => {
                let patch = json!({ "spec": { "pool": { "name": pool } } });
                vec![Write::merge_patch(&resource, "", node.name(), patch)]
            }
            // Later ones are set with the update of the node (`syncMachineConfigNodes`).
            Some(there) if there.text("/spec/configVersion/desired") == NOT_YET_SET => {
                let set = |desired| {
                    let patch = json!({ "spec": { "configVersion": { "desired": desired } } });
                    Write::merge_patch(&resource, "", node.name(), patch)
                };
                desired_config(node).map(set).into_iter().collect()
            }
            Some(_) => Vec::new(),
        }
    }
}

impl Actor for MachineConfigNodes {
    fn name(&self) -> &'static str {
        "machine-config-operator/nodes"
    }

    fn identity(&self) -> Identity {
        identity(&self.facts)
    }

    fn interests(&self) -> Vec<Interest> {
        let kinds = [NODES, MACHINE_CONFIG_POOLS, MACHINE_CONFIG_NODES].map(Interest::Kind);
        let objects = [
            CUSTOM_RESOURCE_DEFINITIONS.key("", DEFINITION),
            CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG),
            FEATURE_GATES.key("", "cluster"),
        ];
        kinds.into_iter().chain(objects.map(Interest::Object)).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}
