//! Hides objects of others from a run: their nodes, and everything that a simulated controller would act on.

use windtunnel_core::resources::{
    CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, ENDPOINT_SLICES, ENDPOINTS, JOBS, LEASES, NODES,
    POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS,
};
use windtunnel_core::{Change, ChangeKind, Object};

use super::marks::stamp::{RUN, SIMULATED};

/// Returns whether to hide a change. With `controllers`, the cluster has real Kubernetes controllers, whose
/// objects for a run lack its marks.
pub(super) fn is_of_others(change: &Change, controllers: bool) -> bool {
    let has = |label: &str| {
        let states = std::iter::once(&change.object).chain(&change.old);
        states.into_iter().any(|state| state.label(label).is_some())
    };
    if change.key.is_kind(&NODES) {
        return !has(SIMULATED);
    }
    !controllers && !has(RUN) && is_worked_on(change)
}

/// Returns whether Kubernetes controllers act on an object.
fn is_worked_on(change: &Change) -> bool {
    let object = &change.object;
    let is_node_lease = change.key.is_kind(&LEASES) && object.namespace() == "kube-node-lease";
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
    let has_pods = change.key.is_kind(&SERVICES) && has_selector(object);
    // Its owner may be hidden, so that the simulated garbage collector would take it for an orphan.
    let is_owned = !object.list("/metadata/ownerReferences").is_empty();
    // The deletion of an object that was visible stays visible.
    let is_going = object.is_terminating() && change.kind != ChangeKind::Deleted;
    is_node_lease
        || has_pods
        || is_owned
        || is_going
        || kinds.into_iter().any(|kind| change.key.is_kind(kind))
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
    fn hides_nodes_of_others() {
        let node = |labels: Value| json!({ "metadata": { "name": "n", "labels": labels } });
        let master = json!({ "node-role.kubernetes.io/master": "" });
        assert!(hidden(&NODES, node(master.clone()), true) && hidden(&NODES, node(master), false));
        assert!(!hidden(&NODES, node(json!({ SIMULATED: "true" })), true));
    }

    #[test]
    fn hides_objects_that_simulated_controllers_would_act_on() {
        let of = |run: Value| json!({ "metadata": { "namespace": "a", "name": "n", "labels": run } });
        assert!(hidden(&PODS, of(json!({})), false));
        assert!(!hidden(&PODS, of(json!({ RUN: "r" })), false));
        // A pod that a real controller created for the run.
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
    fn hides_a_terminating_namespace_of_others_but_not_its_deletion() {
        let going = json!({ "metadata": { "name": "n", "deletionTimestamp": "2024-01-01T00:00:00Z" } });
        assert!(is_hidden(&NAMESPACES, ChangeKind::Modified, going.clone(), false));
        assert!(!is_hidden(&NAMESPACES, ChangeKind::Deleted, going, false));
    }
}
