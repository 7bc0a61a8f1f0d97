//! The objects that belong to a run: those with its label, in its namespaces or on its nodes, and pods that
//! controllers of the cluster create for its workloads.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::resources::{
    CONTROLLER_REVISIONS, CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, LEASES, PODS, REPLICA_SETS,
    STATEFUL_SETS,
};

use super::super::runs;
use super::super::stamp::RUN;
use super::{is, text};

/// The objects of a run, as far as one round has found them.
pub(super) struct Scope<'s> {
    pub(super) run: &'s str,
    /// Whether the cluster's namespace controller empties and finalizes namespaces.
    pub(super) controllers: bool,
    /// The namespaces that the run created.
    pub(super) namespaces: BTreeSet<String>,
    /// Objects from earlier rounds that may be deleted by now.
    pub(super) traces: &'s Traces,
}

/// References by which to find objects that controllers created for the run.
#[derive(Default)]
pub(super) struct Traces {
    /// The names of its nodes.
    pub(super) nodes: BTreeSet<String>,
    /// The uids of possible owners.
    pub(super) owners: BTreeSet<String>,
}

impl Scope<'_> {
    pub(super) fn selector(&self) -> String {
        format!("?labelSelector={RUN}%3D{}", self.run)
    }

    /// Returns the query that reduces a list of a kind to what may belong to the run.
    pub(super) fn query(&self, resource: &Resource) -> String {
        // Without a namespace controller, objects of others in the run's namespaces must be deleted as well.
        let by_namespace = resource.namespaced && !self.controllers && !self.namespaces.is_empty();
        if by_namespace || is_made_by_controllers(resource) { String::new() } else { self.selector() }
    }

    pub(super) fn has(&self, resource: &Resource, object: &Value) -> bool {
        let is_lease = is(resource, &LEASES) && text(object, "name") == runs::LEASE;
        let is_on_node = || {
            let node = object["spec"]["nodeName"].as_str().filter(|_| is(resource, &PODS));
            node.is_some_and(|node| self.traces.nodes.contains(node))
        };
        let is_owned = || {
            let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            let mut uids = owners.filter_map(|owner| owner["uid"].as_str());
            is_made_by_controllers(resource) && uids.any(|uid| self.traces.owners.contains(uid))
        };
        let is_ours = object["metadata"]["labels"][RUN] == self.run
            || self.namespaces.contains(&text(object, "namespace"));
        (is_ours || is_on_node() || is_owned()) && !is_lease
    }

    /// Returns whether the namespace controller deletes objects of a kind with their namespace. It does not
    /// delete pods of simulated nodes: it would wait for kubelets that do not run any more.
    pub(super) fn goes_with_its_namespace(&self, resource: &Resource, namespace: &str) -> bool {
        self.controllers && self.namespaces.contains(namespace) && !is(resource, &PODS)
    }
}

/// Returns whether objects of a kind own pods, or owners of pods.
pub(super) fn owns_pods(resource: &Resource) -> bool {
    [&DEPLOYMENTS, &REPLICA_SETS, &DAEMON_SETS, &STATEFUL_SETS, &CRON_JOBS, &JOBS]
        .into_iter()
        .any(|other| is(resource, other))
}

/// Returns whether controllers create objects of a kind, without marks of the run.
pub(super) fn is_made_by_controllers(resource: &Resource) -> bool {
    [&PODS, &REPLICA_SETS, &JOBS, &CONTROLLER_REVISIONS].into_iter().any(|other| is(resource, other))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;

    #[test]
    fn includes_pods_that_real_controllers_created_for_the_run() {
        let (node, owner) = ("worker-0".to_owned(), "u1".to_owned());
        let traces = Traces { nodes: [node].into(), owners: [owner].into() };
        let namespaces = ["ours".to_owned()].into();
        let scope = Scope { run: "r1", controllers: true, namespaces, traces: &traces };
        let pod = |namespace: &str, node: &str, owner: &str| {
            json!({
                "metadata": { "namespace": namespace, "name": "p", "ownerReferences": [{ "uid": owner }] },
                "spec": { "nodeName": node },
            })
        };
        assert!(scope.has(&PODS, &pod("ours", "", "")));
        assert!(scope.has(&PODS, &pod("kube-system", "worker-0", "")), "of a DaemonSet of others");
        assert!(scope.has(&REPLICA_SETS, &pod("kube-system", "", "u1")));
        assert!(!scope.has(&PODS, &pod("kube-system", "worker-9", "u2")));
        assert!(!scope.has(&CONFIG_MAPS, &pod("kube-system", "worker-0", "u1")), "controllers make none");
        assert_eq!((scope.query(&PODS), scope.query(&CONFIG_MAPS)), (String::new(), scope.selector()));
        let goes = |resource: &Resource, namespace: &str| scope.goes_with_its_namespace(resource, namespace);
        assert!(goes(&CONFIG_MAPS, "ours") && !goes(&PODS, "ours") && !goes(&CONFIG_MAPS, "kube-system"));
    }
}
