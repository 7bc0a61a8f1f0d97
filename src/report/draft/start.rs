//! The cluster at the start of a record, as keys of `cluster`: nodes with their pools and labels, and objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::yaml::scalar;
use windtunnel_core::{Object, View, pool};

use super::lost::Lost;
use super::requests::{content, flow};

/// The pools of every cluster.
pub(super) const POOLS: [&str; 2] = ["master", "worker"];

/// The kinds of objects that hold an update up or run on nodes, and that users create. Their prerequisites come first.
const KINDS: [&str; 13] = [
    "Namespace",
    "PriorityClass",
    "ServiceAccount",
    "MachineConfigPool",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "Pod",
    "PodDisruptionBudget",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
];

/// The kinds of objects in a namespace that the cluster itself has.
const NAMESPACES_OF_CLUSTER: [&str; 3] = ["openshift", "kube", "default"];

/// The greatest number of objects in a draft.
const OBJECTS_MAX: usize = 100;

/// The domains of labels that the components of every cluster set.
const DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", "openshift.io"];

/// A custom pool that `nodes` can describe.
struct CustomPool<'v> {
    object: &'v Object,
    /// Its nodes, by name.
    nodes: Vec<&'v Object>,
}

/// The start of a draft.
pub(super) struct Start {
    /// The line of `nodes`, and those of `objects`.
    pub(super) text: String,
    /// The custom pools in `nodes`.
    pub(super) pools: BTreeSet<String>,
}

/// Renders the cluster at the start of a record; `lost` gets what it leaves out.
pub(super) fn render(view: &View, lost: &mut Lost) -> Start {
    let pools = custom_pools(view);
    let names: BTreeSet<String> = pools.iter().map(|pool| pool.object.name().to_owned()).collect();
    let mut text = String::new();
    if view.list(&NODES).next().is_some() {
        text += &format!("  nodes: {{{}}}\n", nodes(view, &pools, lost));
    }
    text += &objects(view, &names, lost);
    Start { text, pools: names }
}

/// Returns the custom pools that select nodes and MachineConfigs as those of `nodes` do. The others are objects.
fn custom_pools(view: &View) -> Vec<CustomPool<'_>> {
    let of = |object: &'_ Object| {
        let role = format!("node-role.kubernetes.io/{}", object.name());
        let configs = json!({ "matchExpressions": [{
            "key": "machineconfiguration.openshift.io/role", "operator": "In", "values": ["worker", object.name()],
        }] });
        object["spec"]["nodeSelector"] == json!({ "matchLabels": { (role): "" } })
            && object["spec"]["machineConfigSelector"] == configs
    };
    let custom = view.list(&MACHINE_CONFIG_POOLS).filter(|pool| !POOLS.contains(&pool.name()) && of(pool));
    let with_nodes = custom.map(|object| {
        let role = format!("node-role.kubernetes.io/{}", object.name());
        let nodes = view.list(&NODES).filter(|node| node.label(&role).is_some() && !is_master(node));
        CustomPool { object, nodes: nodes.collect() }
    });
    // The nodes of a pool with the names of workers have joined it by a label.
    with_nodes.filter(|pool| !pool.nodes.iter().any(|node| node.name().starts_with("worker-"))).collect()
}

fn is_master(node: &Object) -> bool {
    node.label("node-role.kubernetes.io/master").is_some()
}

/// The content of `nodes`.
fn nodes(view: &View, pools: &[CustomPool<'_>], lost: &mut Lost) -> String {
    let pooled: BTreeMap<&str, &str> = pools
        .iter()
        .flat_map(|pool| pool.nodes.iter().map(|node| (node.name(), pool.object.name())))
        .collect();
    let (masters, others): (Vec<&Object>, Vec<&Object>) = view.list(&NODES).partition(|node| is_master(node));
    let workers: Vec<&Object> = others.into_iter().filter(|node| !pooled.contains_key(node.name())).collect();
    let mut text = format!("control-plane: {}, workers: {}", masters.len(), workers.len());
    if !pools.is_empty() {
        let pools: Vec<String> = pools.iter().map(self::pool).collect();
        text += &format!(", pools: {{{}}}", pools.join(", "));
    }
    let all =
        [("master", masters), ("worker", workers)].into_iter().map(|(role, nodes)| (role.to_owned(), nodes));
    let of_pools = pools.iter().map(|pool| (pool.object.name().to_owned(), pool.nodes.clone()));
    let mut labels = Vec::new();
    for (role, nodes) in all.chain(of_pools) {
        let mut nodes = nodes;
        nodes.sort_by_key(|node| (node.name().len(), node.name()));
        for (number, node) in nodes.into_iter().enumerate() {
            let name = format!("{role}-{number}");
            if node.name() != name {
                lost.add("names of nodes", "a scenario names nodes by role and number", node.name());
            }
            let own = labels_of(node, &role);
            if !own.is_empty() {
                labels.push(format!("{name}: {}", flow(&json!(own))));
            }
        }
    }
    if !labels.is_empty() {
        text += &format!(", labels: {{{}}}", labels.join(", "));
    }
    text
}

/// A pool of `nodes`.
fn pool(CustomPool { object, nodes }: &CustomPool<'_>) -> String {
    let mut text = format!("{}: {{count: {}", scalar(object.name()), nodes.len());
    if pool::is_paused(object) {
        text += ", paused: true";
    }
    match &object["spec"]["maxUnavailable"] {
        Value::Null => {}
        number => text += &format!(", max-unavailable: {}", flow(number)),
    }
    text + "}"
}

/// The labels of a node that users set.
fn labels_of(node: &Object, role: &str) -> BTreeMap<String, Value> {
    let labels = node["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.into_iter().filter(|(name, _)| is_custom(name, role)).collect()
}

/// Whether a label is none that every cluster has: a role of its own, one of a zone, or one of another domain.
pub(super) fn is_custom(label: &str, role: &str) -> bool {
    let (domain, name) = label.split_once('/').unwrap_or(("", label));
    match domain {
        "node-role.kubernetes.io" => !["master", "control-plane", "worker", role].contains(&name),
        "topology.kubernetes.io" => true,
        _ => !DOMAINS.iter().any(|known| domain == *known || domain.ends_with(&format!(".{known}"))),
    }
}

/// The lines of `objects`: what users have created, and pools that users have changed.
fn objects(view: &View, pools: &BTreeSet<String>, lost: &mut Lost) -> String {
    let mut found: Vec<Value> = Vec::new();
    for object in view.objects().map(|(_, object)| object).filter(|object| is_of_user(object, pools)) {
        match content(object) {
            Ok(_) if found.len() >= OBJECTS_MAX => {
                let reason =
                    "a draft has at most 100 objects: create the others from a dump, with `--start-from`";
                lost.add("objects", reason, object.name());
            }
            Ok(mut content) => {
                if object["kind"] == "Pod"
                    && let Some(spec) = content["spec"].as_object_mut()
                {
                    spec.remove("nodeName");
                }
                found.push(content);
            }
            Err(reason) => lost.add("objects", reason, object.name()),
        }
    }
    for name in POOLS {
        let pool = view.get(&MACHINE_CONFIG_POOLS, "", name);
        if let Some(number) =
            pool.map(|pool| &pool["spec"]["maxUnavailable"]).filter(|number| !number.is_null())
        {
            found.push(json!({
                "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
                "kind": MACHINE_CONFIG_POOLS.kind,
                "metadata": { "name": name },
                "spec": { "maxUnavailable": number },
            }));
        }
    }
    if found.is_empty() {
        return String::new();
    }
    let rank = |object: &Value| KINDS.iter().position(|kind| object["kind"] == *kind);
    found.sort_by_key(rank);
    let lines: Vec<String> = found.iter().map(|object| format!("  - {}\n", flow(object))).collect();
    format!("  objects:\n{}", lines.concat())
}

/// Whether a user has created an object of [`KINDS`]: nothing owns it, and it is in no namespace of the cluster.
fn is_of_user(object: &Object, pools: &BTreeSet<String>) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    let namespace = if kind == "Namespace" { object.name() } else { object.namespace() };
    let is_of_cluster = NAMESPACES_OF_CLUSTER.iter().any(|own| {
        namespace == *own && (kind == "Namespace" || *own != "default")
            || namespace.starts_with(&format!("{own}-"))
    });
    let has_owner = !object.list("/metadata/ownerReferences").is_empty();
    let is_known_name = match kind {
        "MachineConfigPool" => POOLS.contains(&object.name()) || pools.contains(object.name()),
        "PriorityClass" => ["system-", "openshift-"].iter().any(|start| object.name().starts_with(start)),
        "ServiceAccount" => ["default", "builder", "deployer", "pipeline"].contains(&object.name()),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => is_webhook_of_cluster(object),
        _ => false,
    };
    KINDS.contains(&kind) && !is_of_cluster && !has_owner && !is_known_name
}

/// Whether the services of a webhook are those of the cluster.
fn is_webhook_of_cluster(object: &Object) -> bool {
    let namespaces = object
        .list("/webhooks")
        .iter()
        .map(|webhook| webhook["clientConfig"]["service"]["namespace"].as_str().unwrap_or_default());
    let mut namespaces = namespaces.peekable();
    namespaces.peek().is_some() && namespaces.all(|namespace| namespace.starts_with("openshift"))
}
