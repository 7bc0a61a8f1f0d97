//! The facts of operators' workloads (`manifests/operands.yaml`), and the objects that they describe.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};
use windtunnel_core::resources::{
    DAEMON_SETS, DEPLOYMENTS, INFRASTRUCTURES, POD_DISRUPTION_BUDGETS, STATEFUL_SETS,
};
use windtunnel_core::{Key, Resource, View};

use crate::control_plane::{MASTER_LABEL, masters};
use crate::manifests;
use crate::release::Release;

static WORKLOADS: LazyLock<Vec<Workload>> = LazyLock::new(|| {
    let facts = manifests::only("operands.yaml");
    serde_json::from_value(facts).unwrap_or_else(|error| panic!("manifests/operands.yaml: {error}"))
});

/// The ServiceAccount that Kubernetes creates in every namespace.
const EVERY_NAMESPACE_HAS: &str = "default";

/// A workload that an operator creates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    operator: String,
    kind: Kind,
    pub(super) namespace: String,
    name: String,
    nodes: Place,
    #[serde(default)]
    replicas: Option<Replicas>,
    labels: BTreeMap<String, String>,
    /// Names of containers, each with the component of its image.
    containers: Vec<BTreeMap<String, String>>,
    #[serde(default)]
    priority: Option<String>,
    #[serde(default)]
    service_account: Option<String>,
    /// Accounts of other pods on the network of their nodes.
    #[serde(default)]
    host_accounts: Vec<String>,
    #[serde(default)]
    spread: Option<Spread>,
    #[serde(default)]
    max_unavailable: Option<Value>,
    #[serde(default)]
    max_surge: Option<Value>,
    #[serde(default)]
    budget: Option<Value>,
    #[serde(default)]
    host_network: bool,
    #[serde(default)]
    grace_seconds: Option<u32>,
    /// Empty for all platforms.
    #[serde(default)]
    platforms: Vec<String>,
    #[serde(default)]
    since: Option<String>,
    #[serde(default)]
    until: Option<String>,
    /// The file that the facts are from.
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Kind {
    Deployment,
    DaemonSet,
    StatefulSet,
}

/// The nodes of its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    ControlPlane,
    Workers,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Replicas {
    Number(usize),
    For(ForEach),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ForEach {
    ControlPlane,
}

/// Whether its pods must be on different nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Spread {
    Required,
}

/// The properties of a cluster that decide which workloads it has.
#[derive(Debug)]
pub(super) struct Site<'a> {
    platform: &'a str,
    control_plane_nodes: usize,
    has_one_worker: bool,
}

impl<'a> Site<'a> {
    pub(super) fn of(view: &'a View) -> Self {
        let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
        let text = |path: &str| infrastructure.map_or("", |object| object.text(path));
        Self {
            platform: text("/status/platformStatus/type"),
            control_plane_nodes: masters(view).len(),
            has_one_worker: text("/status/infrastructureTopology") == "SingleReplica",
        }
    }
}

/// The workloads of all operators in any release.
pub(super) fn all() -> impl Iterator<Item = &'static Workload> {
    WORKLOADS.iter()
}

/// The workloads of an operator in any release.
pub(super) fn of(cluster_operator: &str) -> impl Iterator<Item = &'static Workload> {
    WORKLOADS.iter().filter(move |workload| workload.operator == cluster_operator)
}

impl Workload {
    pub(super) fn resource(&self) -> Resource {
        match self.kind {
            Kind::Deployment => DEPLOYMENTS,
            Kind::DaemonSet => DAEMON_SETS,
            Kind::StatefulSet => STATEFUL_SETS,
        }
    }

    /// The components with the images of its containers.
    pub(super) fn components(&self) -> impl Iterator<Item = &str> {
        self.containers.iter().flat_map(BTreeMap::values).map(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn operator(&self) -> &str {
        &self.operator
    }

    pub(super) fn key(&self) -> Key {
        self.resource().key(&self.namespace, &self.name)
    }

    /// Whether a cluster of this release and at this place has it.
    pub(super) fn is_of(&self, release: &Release, site: &Site<'_>) -> bool {
        let line = |text: &Option<String>| text.as_deref().and_then(manifests::line);
        line(&self.since).is_none_or(|since| since <= release.line())
            && line(&self.until).is_none_or(|until| until >= release.line())
            && (self.platforms.is_empty() || self.platforms.iter().any(|platform| platform == site.platform))
    }

    fn replicas(&self, site: &Site<'_>) -> Option<usize> {
        let is_alone = match self.nodes {
            Place::ControlPlane => site.control_plane_nodes == 1,
            Place::Workers | Place::All => site.has_one_worker,
        };
        self.replicas.map(|replicas| match replicas {
            Replicas::Number(number) if is_alone => number.min(1),
            Replicas::Number(number) => number,
            Replicas::For(ForEach::ControlPlane) => site.control_plane_nodes,
        })
    }

    /// The objects of a release, in the order of their creation.
    pub(super) fn objects(&self, release: &Release, site: &Site<'_>) -> Vec<Value> {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.namespace } });
        let mut objects = vec![namespace];
        objects.extend(self.accounts());
        objects.push(self.manifest(release, site));
        objects.extend(self.budget(site));
        objects
    }

    /// Its account and, if its pods use the network of their nodes, the right to do that.
    fn accounts(&self) -> Vec<Value> {
        let own = self.service_account.as_deref().unwrap_or(EVERY_NAMESPACE_HAS);
        let others = self.host_accounts.iter().map(|account| (account.as_str(), true));
        let objects =
            [(own, self.host_network)].into_iter().chain(others).flat_map(|(account, is_on_host)| {
                let metadata = json!({ "namespace": self.namespace, "name": account });
                let object = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
                let is_created = account != EVERY_NAMESPACE_HAS;
                [is_created.then_some(object), is_on_host.then(|| self.host_rights(account))]
            });
        objects.flatten().collect()
    }

    /// The right to run pods on the network of their nodes.
    fn host_rights(&self, account: &str) -> Value {
        let group = "rbac.authorization.k8s.io";
        json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "RoleBinding",
            "metadata": { "namespace": self.namespace, "name": format!("{account}-privileged") },
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "system:openshift:scc:privileged" },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": self.namespace }],
        })
    }

    fn budget(&self, site: &Site<'_>) -> Option<Value> {
        let mut spec =
            self.budget.clone().filter(|_| self.replicas(site).is_some_and(|replicas| replicas > 1))?;
        let name = spec.as_object_mut().and_then(|fields| fields.remove("name"));
        spec["selector"] = json!({ "matchLabels": self.labels });
        Some(json!({
            "apiVersion": POD_DISRUPTION_BUDGETS.api_version(),
            "kind": POD_DISRUPTION_BUDGETS.kind,
            "metadata": { "namespace": self.namespace, "name": name },
            "spec": spec,
        }))
    }

    /// The workload of a release.
    pub(super) fn manifest(&self, release: &Release, site: &Site<'_>) -> Value {
        let mut spec =
            json!({ "selector": { "matchLabels": self.labels }, "template": self.template(release) });
        if let Some(replicas) = self.replicas(site) {
            spec["replicas"] = json!(replicas);
        }
        let strategy = if self.kind == Kind::Deployment { "strategy" } else { "updateStrategy" };
        for (field, value) in [("maxUnavailable", &self.max_unavailable), ("maxSurge", &self.max_surge)] {
            if let Some(value) = value {
                spec[strategy]["type"] = json!("RollingUpdate");
                spec[strategy]["rollingUpdate"][field] = value.clone();
            }
        }
        if self.kind == Kind::StatefulSet {
            spec["serviceName"] = json!(self.name);
            spec["podManagementPolicy"] = json!("Parallel");
        }
        json!({
            "apiVersion": self.resource().api_version(),
            "kind": self.resource().kind,
            "metadata": { "namespace": self.namespace, "name": self.name, "labels": self.labels },
            "spec": spec,
        })
    }

    fn template(&self, release: &Release) -> Value {
        let containers = self.containers.iter().flatten();
        let containers: Vec<Value> = containers
            .map(|(name, component)| json!({ "name": name, "image": release.image_of(component) }))
            .collect();
        let mut spec = json!({ "containers": containers });
        match self.nodes {
            Place::ControlPlane => {
                spec["nodeSelector"] = json!({ (MASTER_LABEL): "" });
                spec["tolerations"] =
                    json!([{ "key": MASTER_LABEL, "operator": "Exists", "effect": "NoSchedule" }]);
            }
            Place::All => spec["tolerations"] = json!([{ "operator": "Exists" }]),
            Place::Workers => {}
        }
        if let Some(priority) = &self.priority {
            spec["priorityClassName"] = json!(priority);
        }
        if let Some(account) = &self.service_account {
            spec["serviceAccountName"] = json!(account);
        }
        if let Some(seconds) = self.grace_seconds {
            spec["terminationGracePeriodSeconds"] = json!(seconds);
        }
        if self.host_network {
            spec["hostNetwork"] = json!(true);
        }
        if self.spread.is_some() {
            let term = json!({ "labelSelector": { "matchLabels": self.labels }, "topologyKey": "kubernetes.io/hostname" });
            spec["affinity"] =
                json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [term] } });
        }
        json!({ "metadata": { "labels": self.labels }, "spec": spec })
    }
}
