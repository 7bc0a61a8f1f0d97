//! The work that is left in a cluster: requests of the administrator that are not fulfilled yet.

use serde_json::{Value, json};
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, View, cluster_version, condition, node, pool, text_of};

/// The object that has not converged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A node.
    Node,
    /// A MachineConfigPool.
    Pool,
    /// A ClusterOperator.
    Operator,
    /// The ClusterVersion.
    Version,
}

/// Something that is left to do.
#[derive(Debug, Clone)]
pub struct Unmet {
    /// The kind of the object.
    pub subject: Subject,
    /// Its name.
    pub name: String,
    /// The difference between the object and what it should be.
    pub text: String,
    /// The expectation of a scenario that does not hold.
    pub expect: Value,
}

impl Unmet {
    fn new(subject: Subject, name: &str, text: String, expect: Value) -> Self {
        Self { subject, name: name.to_owned(), text, expect }
    }
}

/// Returns whether nothing is left to do in a cluster.
pub fn has_converged(view: &View) -> bool {
    unmet(view).is_empty()
}

/// Returns what is left to do, causes before their consequences.
pub fn unmet(view: &View) -> Vec<Unmet> {
    let nodes = view.list(&NODES).filter_map(unmet_of_node);
    let pools = view.list(&MACHINE_CONFIG_POOLS).flat_map(unmet_of_pool);
    let operators = view.list(&CLUSTER_OPERATORS).flat_map(unmet_of_operator);
    let version = view.cluster_version().and_then(unmet_of_version);
    nodes.chain(pools).chain(operators).chain(version).collect()
}

/// Returns whether the cluster tries again and again what was asked for: the release was refused.
pub fn is_refused(view: &View) -> bool {
    let version = view.cluster_version();
    version
        .and_then(|version| condition::find_in_status(version, "ReleaseAccepted"))
        .is_some_and(|accepted| text_of(accepted, "status") != "True")
}

/// A condition that should have another status.
fn wrong(object: &Object, kind: &str, condition: &str, wanted: &str, subject: Subject) -> Option<Unmet> {
    let found = condition::find_in_status(object, condition);
    let status = found.map_or("missing", |found| text_of(found, "status"));
    let is_met = status == wanted || found.is_none() && wanted == "False";
    let name = object.name();
    let expect = json!({
        "object": format!("{kind}/{name}"), "condition": { "type": condition, "status": wanted },
    });
    let reason = found.map_or("", |found| text_of(found, "reason"));
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let text = format!("{kind} {name} has {condition}={status}{reason}");
    (!is_met).then(|| Unmet::new(subject, name, text, expect))
}

fn unmet_of_node(node: &Object) -> Option<Unmet> {
    let cordoned = node::is_unschedulable(node).then(|| {
        let name = node.name();
        let expect = json!({ "object": format!("Node/{name}"), "fields": { "spec.unschedulable": "" } });
        Unmet::new(Subject::Node, name, format!("Node {name} is cordoned"), expect)
    });
    wrong(node, "Node", "Ready", "True", Subject::Node).or(cordoned)
}

fn unmet_of_pool(pool: &Object) -> impl Iterator<Item = Unmet> {
    let check = |condition, wanted| wrong(pool, "MachineConfigPool", condition, wanted, Subject::Pool);
    let updated = if pool::is_paused(pool) { None } else { check("Updated", "True") };
    [check("Degraded", "False"), updated].into_iter().flatten()
}

fn unmet_of_operator(operator: &Object) -> impl Iterator<Item = Unmet> {
    let check = |condition, wanted| wrong(operator, "ClusterOperator", condition, wanted, Subject::Operator);
    [check("Available", "True"), check("Degraded", "False"), check("Progressing", "False")]
        .into_iter()
        .flatten()
}

fn unmet_of_version(version: &Object) -> Option<Unmet> {
    let check = |condition, wanted| wrong(version, "ClusterVersion", condition, wanted, Subject::Version);
    let wanted = version.text("/spec/desiredUpdate/version");
    let newest = cluster_version::newest_entry(version);
    let reached = newest.map_or("", |newest| text_of(newest, "version"));
    let is_refused = condition::find_in_status(version, "ReleaseAccepted")
        .is_some_and(|accepted| text_of(accepted, "status") != "True");
    let elsewhere = (!wanted.is_empty() && wanted != reached && !is_refused).then(|| {
        let expect = json!({ "update": "complete" });
        Unmet::new(
            Subject::Version,
            "version",
            format!("ClusterVersion is at {reached}, not at {wanted}"),
            expect,
        )
    });
    let partial = newest.is_none_or(|newest| text_of(newest, "state") != "Completed").then(|| {
        let expect = json!({
            "object": "ClusterVersion/version", "fields": { "status.history[0].state": "Completed" },
        });
        Unmet::new(Subject::Version, "version", "the newest release is not Completed".to_owned(), expect)
    });
    check("Failing", "False").or_else(|| check("Progressing", "False")).or(elsewhere).or(partial)
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::CLUSTER_VERSIONS;
    use windtunnel_core::{Change, ChangeKind};

    use super::*;

    fn view(objects: &[(Value, &windtunnel_core::Resource)]) -> View {
        let mut view = View::default();
        for (object, resource) in objects {
            let object = Object::new(object.clone());
            let key = resource.key("", object.name());
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        view
    }

    fn node(ready: &str, is_cordoned: bool) -> Value {
        json!({
            "metadata": { "name": "worker-0" },
            "spec": { "unschedulable": is_cordoned },
            "status": { "conditions": [{ "type": "Ready", "status": ready, "reason": "R" }] },
        })
    }

    #[test]
    fn nodes_must_be_ready_and_schedulable() {
        let found = |node: Value| unmet(&view(&[(node, &NODES)])).into_iter().map(|unmet| unmet.text).next();
        assert_eq!(found(node("True", false)), None);
        assert_eq!(found(node("True", true)), Some("Node worker-0 is cordoned".to_owned()));
        assert_eq!(found(node("False", true)), Some("Node worker-0 has Ready=False (R)".to_owned()));
    }

    #[test]
    fn a_paused_pool_may_be_behind_but_not_degraded() {
        let pool = |paused: bool, degraded: &str| {
            json!({
                "metadata": { "name": "worker" },
                "spec": { "paused": paused },
                "status": { "conditions": [
                    { "type": "Updated", "status": "False" }, { "type": "Degraded", "status": degraded },
                ] },
            })
        };
        let count = |pool: Value| unmet(&view(&[(pool, &MACHINE_CONFIG_POOLS)])).len();
        assert_eq!(
            [count(pool(true, "False")), count(pool(false, "False")), count(pool(true, "True"))],
            [0, 1, 1]
        );
    }

    #[test]
    fn a_refused_release_is_not_expected() {
        let version = |accepted: &str| {
            json!({
                "metadata": { "name": "version" },
                "spec": { "desiredUpdate": { "version": "4.18.5" } },
                "status": {
                    "history": [{ "version": "4.18.1", "state": "Completed" }],
                    "conditions": [{ "type": "ReleaseAccepted", "status": accepted }],
                },
            })
        };
        let found =
            |accepted: &str| unmet(&view(&[(version(accepted), &CLUSTER_VERSIONS)])).into_iter().next();
        assert!(found("False").is_none());
        assert_eq!(found("True").unwrap().text, "ClusterVersion is at 4.18.1, not at 4.18.5");
    }
}
