//! What belongs to a run: objects with its label, what is in its namespaces or on its nodes, and the pods that controllers of the
//! cluster make for its workloads.

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

/// What belongs to a run, as far as one look has found.
pub(super) struct Scope<'s> {
    pub(super) run: &'s str,
    /// Whether others empty and finalize namespaces.
    pub(super) controllers: bool,
    /// The namespaces that the run made.
    pub(super) namespaces: BTreeSet<String>,
    /// What was found before and may be deleted by now.
    pub(super) traces: &'s Traces,
}

/// What controllers of the cluster make for objects of the run is found by these.
#[derive(Default)]
pub(super) struct Traces {
    /// The names of its nodes.
    pub(super) nodes: BTreeSet<String>,
    /// The uids of what may own something.
    pub(super) owners: BTreeSet<String>,
}

impl Scope<'_> {
    pub(super) fn selector(&self) -> String {
        format!("?labelSelector={RUN}%3D{}", self.run)
    }

    /// What narrows a list of a kind down to what may belong to the run.
    pub(super) fn query(&self, resource: &Resource) -> String {
        // Without a namespace controller, what others made in the run's namespaces has to go as well.
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

    /// Whether objects of a kind in a namespace go with it, and nobody else has to delete them. No kubelet ends the pods of
    /// simulated nodes any more: the namespace controller would wait for them.
    pub(super) fn goes_with_its_namespace(&self, resource: &Resource, namespace: &str) -> bool {
        self.controllers && self.namespaces.contains(namespace) && !is(resource, &PODS)
    }
}

/// Whether objects of a kind own pods, or what owns those.
pub(super) fn owns_pods(resource: &Resource) -> bool {
    [&DEPLOYMENTS, &REPLICA_SETS, &DAEMON_SETS, &STATEFUL_SETS, &CRON_JOBS, &JOBS]
        .into_iter()
        .any(|other| is(resource, other))
}

/// Whether controllers make objects of a kind for others, and do not mark them.
pub(super) fn is_made_by_controllers(resource: &Resource) -> bool {
    [&PODS, &REPLICA_SETS, &JOBS, &CONTROLLER_REVISIONS].into_iter().any(|other| is(resource, other))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;

    #[test]
    fn pods_that_real_controllers_made_for_a_run_belong_to_it_and_those_of_others_do_not() {
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
