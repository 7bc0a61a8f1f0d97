//! The guards of etcd: a pod beside the etcd of each control-plane node, and a PodDisruptionBudget for all of them, so
//! that only one node is drained at a time. While the operator rolls out another release, and on a single node, there are
//! none (`guardRolloutPreCheck` of openshift/cluster-etcd-operator; the guard controller of library-go).
//!
//! The readiness probe of a guard asks the etcd of its node. It is not simulated: a running guard is ready.

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, DEPLOYMENTS, INFRASTRUCTURES, NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS,
};
use windtunnel_core::{Identity, Key, Object, View, Write, node, pod};

use super::{identity, reported_version};
use crate::control_plane::{MASTER_LABEL, masters};
use crate::manifests::MajorMinor;
use crate::release::{self, OperatorFacts};

/// The ClusterOperator of the etcd operator.
pub const ETCD: &str = "etcd";
const NAMESPACE: &str = "openshift-etcd";
const BUDGET: &str = "etcd-guard-pdb";
/// From this minor on the operator makes guards of this form.
const FIRST_MINOR: MajorMinor = (4, 11);

/// The guard controller in the etcd operator.
#[derive(Debug, Clone)]
pub struct GuardController {
    name: String,
    facts: OperatorFacts,
    queue: WorkQueue,
    started: bool,
}

impl GuardController {
    /// The controller in the operator of `component` with these facts.
    pub fn new(facts: &OperatorFacts, component: &str) -> Self {
        // Each part of an operator restarts separately and needs its own name.
        let name = format!("operator/{component}/guard");
        Self { name, facts: facts.clone(), queue: WorkQueue::default(), started: false }
    }

    fn deployment(&self) -> Key {
        DEPLOYMENTS.key(&self.facts.namespace, &self.facts.deployment)
    }
}

/// Whether the guards exist in this state of the cluster.
fn are_wanted(deployment: &Object, view: &View) -> bool {
    let Some(wanted) = release::version_in(deployment) else { return false };
    let etcd = view.get(&CLUSTER_OPERATORS, "", ETCD);
    let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
    let line = Version::parse(wanted).map(|version| (version.major, version.minor));
    line.is_ok_and(|line| line >= FIRST_MINOR)
        && etcd.and_then(|etcd| reported_version(etcd)) == Some(wanted)
        && infrastructure.is_none_or(|object| object.text("/status/controlPlaneTopology") != "SingleReplica")
}

/// The deletions of all guards and of their budget.
fn deletions(view: &View) -> Vec<Write> {
    let budget = view.get(&POD_DISRUPTION_BUDGETS, NAMESPACE, BUDGET);
    let budget = budget.map(|_| Write::delete(&POD_DISRUPTION_BUDGETS, NAMESPACE, BUDGET));
    let guards = view.list_in(&PODS, NAMESPACE).filter(|pod| pod.label("app") == Some("guard"));
    let guards = guards.filter(|pod| !pod.is_terminating());
    budget.into_iter().chain(guards.map(|pod| Write::delete(&PODS, NAMESPACE, pod.name()))).collect()
}

/// The write that makes the budget allow one missing guard. `None` if it does.
fn budget_write(nodes: usize, view: &View) -> Option<Write> {
    let least = json!(nodes.saturating_sub(1));
    match view.get(&POD_DISRUPTION_BUDGETS, NAMESPACE, BUDGET) {
        Some(budget) if budget["spec"]["minAvailable"] == least => None,
        Some(_) => {
            let patch = json!({ "spec": { "minAvailable": least } });
            Some(Write::merge_patch(&POD_DISRUPTION_BUDGETS, NAMESPACE, BUDGET, patch))
        }
        None => Some(Write::create(
            &POD_DISRUPTION_BUDGETS,
            json!({
                "apiVersion": POD_DISRUPTION_BUDGETS.api_version(),
                "kind": POD_DISRUPTION_BUDGETS.kind,
                "metadata": { "namespace": NAMESPACE, "name": BUDGET },
                "spec": { "minAvailable": least, "selector": { "matchLabels": { "app": "guard" } } },
            }),
        )),
    }
}

/// The next write for the guard of a node. A guard with another image or an end is replaced.
fn guard_write(node: &Object, image: &Value, view: &View) -> Option<Write> {
    let is_cordoned =
        node::taints(node).iter().any(|taint| taint["key"] == "node.kubernetes.io/unschedulable");
    let operand = view.get(&PODS, NAMESPACE, &format!("etcd-{}", node.name()));
    if is_cordoned || operand.is_none_or(|operand| operand.text("/status/podIP").is_empty()) {
        return None;
    }
    let name = format!("etcd-guard-{}", node.name());
    match view.get(&PODS, NAMESPACE, &name) {
        Some(guard) if guard.is_terminating() => None,
        Some(guard) => {
            let is_current = guard["spec"]["containers"][0]["image"] == *image;
            let is_over = matches!(pod::phase(guard), "Succeeded" | "Failed");
            (!is_current || is_over).then(|| Write::delete(&PODS, NAMESPACE, &name))
        }
        None => Some(Write::create(&PODS, guard(&name, node.name(), image))),
    }
}

fn guard(name: &str, node: &str, image: &Value) -> Value {
    json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": { "namespace": NAMESPACE, "name": name, "labels": { "app": "guard" } },
        "spec": {
            "containers": [{
                "name": "guard",
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "command": ["/bin/bash"],
                "resources": { "requests": { "cpu": "10m", "memory": "5Mi" } },
            }],
            "nodeName": node,
            "priorityClassName": "system-cluster-critical",
            "terminationGracePeriodSeconds": 3,
            "tolerations": [{ "operator": "Exists" }],
        },
    })
}

impl Reconcile for GuardController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, _key: &Key, view: &View, _now: Time) -> Vec<Write> {
        let deployment = view.get_key(&self.deployment());
        let Some(deployment) = deployment.filter(|_| view.get(&NAMESPACES, "", NAMESPACE).is_some()) else {
            return Vec::new();
        };
        if !are_wanted(deployment, view) {
            return deletions(view);
        }
        let nodes = masters(view);
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        let guards = nodes.iter().filter_map(|node| guard_write(node, image, view));
        budget_write(nodes.len(), view).into_iter().chain(guards).collect()
    }
}

impl Actor for GuardController {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        identity(&self.facts)
    }

    fn interests(&self) -> Vec<Interest> {
        vec![
            Interest::Object(self.deployment()),
            Interest::Object(CLUSTER_OPERATORS.key("", ETCD)),
            Interest::Object(INFRASTRUCTURES.key("", "cluster")),
            Interest::In(PODS, NAMESPACE.to_owned()),
            Interest::In(POD_DISRUPTION_BUDGETS, NAMESPACE.to_owned()),
            Interest::Labelled(NODES, MASTER_LABEL.to_owned()),
        ]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || !input.changes.is_empty() {
            self.queue.add(CLUSTER_OPERATORS.key("", ETCD));
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_controllers::testing::Rig;

    use super::*;

    /// A control plane of this many nodes, with an etcd operator and its ClusterOperator at these versions.
    fn rig(nodes: &[&str], wanted: &str, reported: &str) -> Rig {
        let mut rig = Rig::new();
        let facts = release::Release::nearest(&wanted.parse().unwrap());
        let facts = facts.operator(ETCD).unwrap().clone();
        let container = json!({ "image": format!("operator:{wanted}"), "env": [{ "name": "RELEASE_VERSION", "value": wanted }] });
        let metadata = json!({ "namespace": facts.namespace, "name": facts.deployment });
        let spec = json!({ "template": { "spec": { "containers": [container] } } });
        rig.put(&DEPLOYMENTS, json!({ "metadata": metadata, "spec": spec }));
        rig.put(&NAMESPACES, json!({ "metadata": { "name": NAMESPACE } }));
        rig.put(&CLUSTER_OPERATORS, json!({ "metadata": { "name": ETCD } }));
        set_version(&mut rig, reported);
        for name in nodes {
            let metadata = json!({ "name": name, "labels": { (MASTER_LABEL): "" } });
            rig.put(&NODES, json!({ "metadata": metadata, "spec": {} }));
            let metadata = json!({ "namespace": NAMESPACE, "name": format!("etcd-{name}") });
            let status = json!({ "podIP": "10.0.0.1", "phase": "Running" });
            rig.put(&PODS, json!({ "metadata": metadata, "status": status }));
        }
        rig.seat(move || Box::new(GuardController::new(&facts, "etcd-operator")));
        rig
    }

    fn set_version(rig: &mut Rig, version: &str) {
        let patch = json!({ "status": { "versions": [{ "name": "operator", "version": version }] } });
        rig.write(&Write::merge_patch_status(&CLUSTER_OPERATORS, "", ETCD, patch));
    }

    /// The guards that are not ending, and `minAvailable` of their budget.
    fn guards(rig: &Rig) -> (Vec<&str>, Option<i64>) {
        let pods = rig.view.list(&PODS).filter(|pod| !pod.is_terminating());
        let guards = pods.filter(|pod| pod.label("app") == Some("guard")).map(Object::name);
        let budget = rig.view.get(&POD_DISRUPTION_BUDGETS, NAMESPACE, BUDGET);
        (guards.collect(), budget.and_then(|budget| budget.number("/spec/minAvailable")))
    }

    #[test]
    fn guards_exist_on_schedulable_nodes_outside_of_rollouts() {
        let mut rig = rig(&["a", "b", "c"], "4.18.7", "4.18.3");
        rig.run(60);
        assert_eq!(guards(&rig), (vec![], None), "a rollout is under way");
        let taints = json!([{ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }]);
        rig.write(&Write::merge_patch(&NODES, "", "c", json!({ "spec": { "taints": taints } })));
        set_version(&mut rig, "4.18.7");
        rig.run(60);
        assert_eq!(guards(&rig), (vec!["etcd-guard-a", "etcd-guard-b"], Some(2)));
        rig.write(&Write::merge_patch(&NODES, "", "c", json!({ "spec": { "taints": null } })));
        rig.write(&Write::merge_patch(
            &POD_DISRUPTION_BUDGETS,
            NAMESPACE,
            BUDGET,
            json!({ "spec": { "minAvailable": 0 } }),
        ));
        rig.run(60);
        assert_eq!(guards(&rig), (vec!["etcd-guard-a", "etcd-guard-b", "etcd-guard-c"], Some(2)));
        set_version(&mut rig, "4.18.6");
        rig.run(60);
        assert_eq!(guards(&rig), (vec![], None));
    }

    #[test]
    fn old_releases_have_no_guards() {
        let mut rig = rig(&["a", "b", "c"], "4.10.3", "4.10.3");
        rig.run(60);
        assert_eq!(guards(&rig), (vec![], None));
    }
}
