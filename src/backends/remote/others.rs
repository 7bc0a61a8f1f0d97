//! What a run sees of a cluster that others use: not their nodes, and nothing of theirs that a simulated controller would work
//! on.

use windtunnel_core::resources::{
    CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, ENDPOINT_SLICES, ENDPOINTS, JOBS, LEASES, NODES,
    POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS,
};
use windtunnel_core::{Change, ChangeKind, Object};

use super::stamp::{RUN, SIMULATED};

/// Whether a change is none of the run's business. `controllers`: those of Kubernetes are at work, and not simulated ones; what
/// they make of the objects of a run does not say whose it is.
pub(super) fn is_of_others(change: &Change, controllers: bool) -> bool {
    let has = |label: &str| {
        let states = std::iter::once(&change.object).chain(&change.old);
        states.into_iter().any(|state| state.label(label).is_some())
    };
    if change.key.is(&NODES) {
        return !has(SIMULATED);
    }
    !controllers && !has(RUN) && is_worked_on(change)
}

/// Whether controllers of Kubernetes would do something about an object.
fn is_worked_on(change: &Change) -> bool {
    let object = &change.object;
    let is_node_lease = change.key.is(&LEASES) && object.namespace() == "kube-node-lease";
    let kinds = [
        &PODS,
        &DEPLOYMENTS,
        &REPLICA_SETS,
        &DAEMON_SETS,
        &STATEFUL_SETS,
        &JOBS,
        &CRON_JOBS,
        &POD_DISRUPTION_BUDGETS,
        &ENDPOINTS,
        &ENDPOINT_SLICES,
    ];
    let has_pods = change.key.is(&SERVICES) && has_selector(object);
    // Its owner may be one that is not seen, and it would be taken for an orphan.
    let is_owned = !object.list("/metadata/ownerReferences").is_empty();
    // That it is gone at last is told of what was seen before.
    let is_going = object.is_terminating() && change.kind != ChangeKind::Deleted;
    is_node_lease || has_pods || is_owned || is_going || kinds.into_iter().any(|kind| change.key.is(kind))
}

fn has_selector(service: &Object) -> bool {
    service["spec"]["selector"].is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::Resource;
    use windtunnel_core::resources::{CONFIG_MAPS, NAMESPACES};

    use super::*;

    fn is_hidden(resource: &Resource, kind: ChangeKind, object: Value, controllers: bool) -> bool {
        let object = Object::new(object);
        let key = resource.key(object.namespace(), object.name());
        is_of_others(&Change { key, kind, object, old: None }, controllers)
    }

    fn hidden(resource: &Resource, object: Value, controllers: bool) -> bool {
        is_hidden(resource, ChangeKind::Added, object, controllers)
    }

    #[test]
    fn nodes_of_others_are_never_seen() {
        let node = |labels: Value| json!({ "metadata": { "name": "n", "labels": labels } });
        let master = json!({ "node-role.kubernetes.io/master": "" });
        assert!(hidden(&NODES, node(master.clone()), true) && hidden(&NODES, node(master), false));
        assert!(!hidden(&NODES, node(json!({ SIMULATED: "true" })), true));
    }

    #[test]
    fn what_simulated_controllers_would_work_on_is_not_seen_where_there_are_no_others() {
        let of = |run: Value| json!({ "metadata": { "namespace": "a", "name": "n", "labels": run } });
        assert!(hidden(&PODS, of(json!({})), false));
        assert!(!hidden(&PODS, of(json!({ RUN: "r" })), false));
        // Pods of a run that a real controller made.
        assert!(!hidden(&PODS, of(json!({})), true));
        assert!(!hidden(&CONFIG_MAPS, of(json!({})), false));
        let mut owned = of(json!({}));
        owned["metadata"]["ownerReferences"] = json!([{ "uid": "u" }]);
        assert!(hidden(&CONFIG_MAPS, owned, false));
        let service = |spec: Value| json!({ "metadata": { "namespace": "a", "name": "n" }, "spec": spec });
        assert!(hidden(&SERVICES, service(json!({ "selector": { "app": "a" } })), false));
        assert!(!hidden(&SERVICES, service(json!({ "clusterIP": "10.0.0.1" })), false));
        let lease = |namespace: &str| json!({ "metadata": { "namespace": namespace, "name": "n" } });
        assert!(hidden(&LEASES, lease("kube-node-lease"), false));
        assert!(!hidden(&LEASES, lease("kube-system"), false));
    }

    #[test]
    fn a_namespace_of_others_on_its_way_out_is_seen_when_it_is_gone() {
        let going = json!({ "metadata": { "name": "n", "deletionTimestamp": "2024-01-01T00:00:00Z" } });
        assert!(is_hidden(&NAMESPACES, ChangeKind::Modified, going.clone(), false));
        assert!(!is_hidden(&NAMESPACES, ChangeKind::Deleted, going, false));
    }
}
