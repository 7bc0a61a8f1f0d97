//! Excuses: rules by which a cluster may not converge although all faults have ended.

use std::collections::BTreeSet;

use windtunnel_core::pool::is_paused;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES, POD_DISRUPTION_BUDGETS, PODS,
};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View, pod};
use windtunnel_openshift::cvo::NAME as CLUSTER_VERSION_OPERATOR;

use crate::engine::sweep::{RejectedWrite, trapped_writes};
use crate::oracles::{Subject, Unmet, pool_of};
use crate::record::{Event, Record};

/// The operator that waits for the pools of the control plane.
const MACHINE_CONFIG: &str = "machine-config";

/// The pool whose nodes an update waits for.
const CONTROL_PLANE: &str = "master";

/// A reason for which something may be left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Excuse {
    /// The API server rejects writes of a component for good: the component is in a trap, and `windtunnel rollback-check`
    /// lists these.
    Trapped(Trap),
    /// The administrator has paused this pool.
    Paused(String),
    /// A budget of the user allows no eviction, so that nodes cannot be drained.
    Budget(Blocked),
}

/// The objects that a trapped component does not bring to an end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trap {
    /// Nodes and their pools.
    away: Blocked,
    /// Whether it makes the MachineConfigs of all pools.
    has_all_pools: bool,
    /// The ClusterOperators that it writes.
    operators: BTreeSet<String>,
    /// Whether it maintains workloads, which any operator may wait for.
    has_workloads: bool,
}

/// Nodes that cannot be updated, and their pools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Blocked {
    nodes: BTreeSet<String>,
    pools: BTreeSet<String>,
}

impl Excuse {
    /// Returns whether something may be left to do for this reason.
    pub(super) fn covers(&self, unmet: &Unmet) -> bool {
        match self {
            // The machine-config operator waits for a pool of the control plane, and the update for the operator.
            Self::Paused(pool) => match unmet.subject {
                Subject::Pool => unmet.name == *pool,
                Subject::Operator => unmet.name == MACHINE_CONFIG,
                Subject::Version => pool == CONTROL_PLANE,
                Subject::Node => false,
            },
            Self::Trapped(trap) => trap.covers(unmet),
            Self::Budget(blocked) => blocked.covers(unmet),
        }
    }
}

impl Trap {
    fn of(rejected: &RejectedWrite, record: &Record, view: &View) -> Self {
        let by = rejected.by.as_str();
        let of_node = by.strip_prefix("kubelet/").or_else(|| by.strip_prefix("machine-config-daemon/"));
        let name = of_node.or_else(|| rejected.key.is_kind(&NODES).then_some(&*rejected.key.name));
        let node = name.and_then(|name| view.get(&NODES, "", name));
        let is_component = |prefixes: &[&str]| prefixes.iter().any(|prefix| by.starts_with(prefix));
        Self {
            away: Blocked::of(node.into_iter(), view),
            has_all_pools: is_component(&["machine-config-controller", "operator/machine-config-operator"]),
            operators: operators_of(by, record),
            has_workloads: !is_component(&[
                "machine-config-",
                "kubelet/",
                "operator/",
                CLUSTER_VERSION_OPERATOR,
            ]),
        }
    }

    fn covers(&self, unmet: &Unmet) -> bool {
        match unmet.subject {
            Subject::Node | Subject::Pool => self.has_all_pools || self.away.covers(unmet),
            Subject::Operator => {
                let has_nodes = self.has_all_pools || !self.away.nodes.is_empty();
                self.has_workloads
                    || self.operators.contains(&unmet.name)
                    || has_nodes && unmet.name == MACHINE_CONFIG
            }
            Subject::Version => true,
        }
    }
}

/// Returns the ClusterOperators that a component has tried to write.
fn operators_of(by: &str, record: &Record) -> BTreeSet<String> {
    let writes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if write.by == by && write.key.is_kind(&CLUSTER_OPERATORS) => Some(write),
        _ => None,
    });
    writes.map(|write| write.key.name.clone()).collect()
}

impl Blocked {
    fn of<'v>(nodes: impl Iterator<Item = &'v Object>, view: &View) -> Self {
        let mut blocked = Self::default();
        for node in nodes {
            blocked.nodes.insert(node.name().to_owned());
            blocked.pools.extend(pool_of(node, view).map(|pool| pool.name().to_owned()));
        }
        blocked
    }

    fn covers(&self, unmet: &Unmet) -> bool {
        match unmet.subject {
            Subject::Node => self.nodes.contains(&unmet.name),
            Subject::Pool => self.pools.contains(&unmet.name),
            Subject::Operator => unmet.name == MACHINE_CONFIG && !self.nodes.is_empty(),
            Subject::Version => !self.nodes.is_empty(),
        }
    }
}

/// Returns the excuses of a cluster.
pub(super) fn find(record: &Record, view: &View) -> Vec<Excuse> {
    let trapped = trapped_writes(record);
    let trapped = trapped.iter().map(|rejected| Excuse::Trapped(Trap::of(rejected, record, view)));
    let paused = view.list(&MACHINE_CONFIG_POOLS).filter(|pool| is_paused(pool));
    let paused = paused.map(|pool| Excuse::Paused(pool.name().to_owned()));
    let blocking = view.list(&POD_DISRUPTION_BUDGETS).filter(|budget| {
        let is_own = !budget.namespace().starts_with("openshift-");
        is_own && budget.number("/status/disruptionsAllowed") == Some(0)
    });
    let blocking = blocking.map(|budget| Excuse::Budget(Blocked::of(nodes_of(budget, view), view)));
    paused.chain(trapped).chain(blocking).collect()
}

/// Returns the nodes with pods of a budget.
fn nodes_of<'v>(budget: &'v Object, view: &'v View) -> impl Iterator<Item = &'v Object> {
    let selector = &budget["spec"]["selector"];
    view.list_in(&PODS, budget.namespace())
        .filter(|pod| selector_matches(selector, &pod["metadata"]["labels"]))
        .filter_map(|pod| view.get(&NODES, "", pod::node_name(pod)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::{Change, ChangeKind, Resource};

    use super::*;
    use crate::oracles::unmet;
    use crate::record::{Entry, Header, WriteEvent};

    fn node(name: &str) -> Value {
        json!({
            "metadata": { "name": name, "labels": { "role": "worker" } }, "spec": { "unschedulable": true },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        })
    }

    /// Two cordoned workers, the first with a pod whose budget allows this number of disruptions.
    fn view(allowed: i64) -> View {
        let selector = json!({ "matchLabels": { "role": "worker" } });
        let objects: [(&Resource, Value); 5] = [
            (&NODES, node("w0")),
            (&NODES, node("w1")),
            (
                &MACHINE_CONFIG_POOLS,
                json!({
                    "metadata": { "name": "worker" }, "spec": { "nodeSelector": selector },
                    "status": { "conditions": [{ "type": "Updated", "status": "False" }] },
                }),
            ),
            (
                &PODS,
                json!({ "metadata": { "namespace": "n", "name": "p", "labels": { "app": "a" } }, "spec": { "nodeName": "w0" } }),
            ),
            (
                &POD_DISRUPTION_BUDGETS,
                json!({
                    "metadata": { "namespace": "n", "name": "b" }, "spec": { "selector": { "matchLabels": { "app": "a" } } },
                    "status": { "disruptionsAllowed": allowed },
                }),
            ),
        ];
        let mut view = View::default();
        for (resource, object) in objects {
            let key = resource.key_of(&object);
            view.apply(&Change { kind: ChangeKind::Added, key, object: Object::new(object), old: None });
        }
        view
    }

    /// The work that is left without an excuse.
    fn left(record: &Record, view: &View) -> Vec<String> {
        let excuses = find(record, view);
        let left = unmet(view).into_iter().filter(|unmet| !excuses.iter().any(|excuse| excuse.covers(unmet)));
        left.map(|unmet| unmet.name).collect()
    }

    #[test]
    fn a_budget_excuses_the_nodes_of_its_pods_and_their_pool() {
        let record = Record::new(Header::default(), Vec::new());
        assert_eq!(left(&record, &view(1)), ["w0", "w1", "worker"]);
        assert_eq!(left(&record, &view(0)), ["w1"]);
    }

    #[test]
    fn a_trap_excuses_what_the_component_is_responsible_for() {
        let rejected = |by: &str| {
            let write = WriteEvent {
                by: by.to_owned(),
                process: String::new(),
                verb: "patch".to_owned(),
                kind: "ConfigMap".to_owned(),
                key: windtunnel_core::resources::CONFIG_MAPS.key("n", "m"),
                subresource: String::new(),
                code: 422,
                message: "invalid".to_owned(),
                before: None,
                after: None,
            };
            let at = Header::default().epoch;
            let entry = Entry { at, event: Event::Write(Box::new(write)) };
            Record::new(Header::default(), vec![entry.clone(), entry])
        };
        assert_eq!(left(&rejected("machine-config-daemon/w1"), &view(1)), ["w0"]);
        assert!(left(&rejected("machine-config-controller/render"), &view(1)).is_empty());
        assert_eq!(left(&rejected("operator/dns-operator"), &view(1)), ["w0", "w1", "worker"]);
        assert_eq!(left(&rejected(CLUSTER_VERSION_OPERATOR), &view(1)), ["w0", "w1", "worker"]);
    }
}
