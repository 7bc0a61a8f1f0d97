//! The MachineConfigPools of a dump.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, pool};

use crate::plan::{Action, PoolPlan, Step};

/// The pools that every cluster has.
const STANDARD: [&str; 2] = ["master", "worker"];

/// The pools that a run takes over, and lines about them.
#[derive(Default)]
pub(super) struct Pools {
    pub(super) custom: Vec<PoolPlan>,
    /// Steps that change the standard pools.
    pub(super) steps: Vec<(String, Step)>,
    pub(super) notices: Vec<String>,
}

impl Pools {
    pub(super) fn of<'o>(objects: impl Iterator<Item = &'o Object>) -> Self {
        let mut pools = Self::default();
        for object in objects {
            if STANDARD.contains(&object.name()) {
                pools.standard(object);
            } else {
                pools.custom(object);
            }
        }
        pools
    }

    fn standard(&mut self, object: &Object) {
        let name = object.name();
        let mut spec = serde_json::Map::new();
        if pool::is_paused(object) {
            self.notices.push(format!("pool {name} is paused"));
            spec.insert("paused".to_owned(), json!(true));
        }
        if let Some(number) = max_unavailable(object) {
            self.notices.push(format!("pool {name} has maxUnavailable {number}"));
            spec.insert("maxUnavailable".to_owned(), number);
        }
        if spec.is_empty() {
            return;
        }
        let what = if spec.contains_key("paused") { "is paused" } else { "has its maxUnavailable" };
        let patch = json!({
            "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
            "kind": MACHINE_CONFIG_POOLS.kind,
            "metadata": { "name": name },
            "spec": spec,
        });
        self.steps.push((format!("pool {name} {what} (from the dump)"), Step::Act(Action::Apply(patch))));
    }

    /// A pool of its own role. The nodes of other custom pools stay in pool worker.
    fn custom(&mut self, object: &Object) {
        let name = object.name();
        if !is_taken(object) {
            self.notices.push(format!("not taken: pool {name}; its nodes join pool worker"));
            return;
        }
        let text = |number: Value| number.as_str().map_or_else(|| number.to_string(), str::to_owned);
        let paused = pool::is_paused(object);
        self.notices.push(format!("pool {name}{}", if paused { ", which is paused" } else { "" }));
        self.custom.push(PoolPlan {
            paused,
            max_unavailable: max_unavailable(object).map(text),
            ..PoolPlan::new(name.to_owned(), 0)
        });
    }

    /// The custom pool of a node, by its roles.
    pub(super) fn of_node(&self, node: &Object) -> Option<String> {
        let has = |pool: &&PoolPlan| node.label(&role(&pool.name)).is_some();
        self.custom.iter().find(has).map(|pool| pool.name.clone())
    }
}

/// Whether machines have another operating system than others, and the pool of some is not up to date.
pub(super) fn are_being_updated(objects: &[&Object]) -> bool {
    let count = |pool: &Object, field: &str| pool.number(&format!("/status/{field}")).unwrap_or_default();
    let is_behind = |object: &&&Object| {
        MACHINE_CONFIG_POOLS.is_kind_of(object)
            && count(object, "updatedMachineCount") < count(object, "machineCount")
    };
    let nodes = objects.iter().filter(|object| NODES.is_kind_of(object));
    let systems: BTreeSet<&str> =
        nodes.map(|node| node.text("/status/nodeInfo/osImage")).filter(|name| !name.is_empty()).collect();
    systems.len() > 1 && objects.iter().any(|object| is_behind(&object))
}

/// Whether a run has the pool: it is a standard one, or selects the nodes with the role of its name.
pub(super) fn is_taken(object: &Object) -> bool {
    let name = object.name();
    STANDARD.contains(&name) || is_of_its_role(object) && PoolPlan::problem_with_name(name).is_none()
}

fn role(name: &str) -> String {
    format!("node-role.kubernetes.io/{name}")
}

/// Whether a pool selects the nodes with the role of its name.
fn is_of_its_role(object: &Object) -> bool {
    let selector = &object["spec"]["nodeSelector"];
    let labels = selector["matchLabels"].as_object();
    labels.is_some_and(|labels| labels.len() == 1 && labels.contains_key(&role(object.name())))
        && selector["matchExpressions"].as_array().is_none_or(Vec::is_empty)
}

/// `spec.maxUnavailable`, if it is not the default of one node.
fn max_unavailable(object: &Object) -> Option<Value> {
    let number = &object["spec"]["maxUnavailable"];
    ((number.is_u64() || number.is_string()) && *number != 1).then(|| number.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_two_operating_systems_and_a_pool_behind_are_being_updated() {
        let node = |name: &str, system: &str| {
            Object::new(json!({
                "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
                "status": { "nodeInfo": { "osImage": system } },
            }))
        };
        let pool = |updated: i64| {
            Object::new(json!({
                "apiVersion": MACHINE_CONFIG_POOLS.api_version(), "kind": MACHINE_CONFIG_POOLS.kind,
                "metadata": { "name": "worker" },
                "status": { "machineCount": 2, "updatedMachineCount": updated },
            }))
        };
        let (old, new, other) = (node("a", "416"), node("b", "418"), node("c", "418"));
        assert!(are_being_updated(&[&old, &new, &pool(1)]));
        assert!(!are_being_updated(&[&old, &new, &pool(2)]));
        assert!(!are_being_updated(&[&new, &other, &pool(1)]));
    }
}
