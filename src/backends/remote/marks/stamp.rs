//! Marks on the objects of a run, by which this run and later ones recognize them.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::resources::{
    CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICA_SETS, STATEFUL_SETS,
};

/// The label of every object that a run creates; its value is the id of the run.
pub const RUN: &str = "windtunnel.dev/run";
/// The label of simulated nodes, and their taint in a cluster with real nodes.
pub const SIMULATED: &str = "windtunnel.dev/simulated";

/// The pointer to the labels of an object.
const LABELS: &str = "/metadata/labels";
/// The pointer to the taints of a node.
const TAINTS: &str = "/spec/taints";

/// The marks of a run, on objects that it creates or writes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamp {
    /// The id of the run; `None` in a dedicated cluster that is deleted as a whole.
    pub(crate) run: Option<String>,
    /// Whether the cluster has real nodes, which must stay unused.
    pub(crate) beside_others: bool,
}

impl Stamp {
    /// Marks an object before its creation.
    pub(in crate::backends::remote) fn mark(&self, resource: &Resource, object: &mut Value) {
        let Some(run) = &self.run else { return };
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        set_key(object, LABELS, RUN, run);
        let Some(pod) = self.pod_spec(resource) else {
            if is(resource, &NODES) {
                self.mark_node(object);
            }
            return;
        };
        if object.pointer(&pod).is_some_and(Value::is_object) {
            push(object, &format!("{pod}/tolerations"), toleration());
            set_key(object, &format!("{pod}/nodeSelector"), SIMULATED, "true");
        }
    }

    fn mark_node(&self, node: &mut Value) {
        set_key(node, LABELS, SIMULATED, "true");
        if self.beside_others {
            push(node, TAINTS, json!({ "key": SIMULATED, "value": "true", "effect": "NoSchedule" }));
        }
    }

    /// Returns the marks that an object of the run lacks: the pointer of each, and its value.
    pub(in crate::backends::remote) fn missing(
        &self,
        resource: &Resource,
        object: &Value,
    ) -> Vec<(String, Value)> {
        let mut marked = object.clone();
        self.mark(resource, &mut marked);
        let places = self.places(resource).into_iter();
        let missing = places.filter(|place| marked.pointer(place) != object.pointer(place));
        missing.filter_map(|place| marked.pointer(&place).cloned().map(|value| (place, value))).collect()
    }

    /// Returns whether an object belongs to this run.
    pub(in crate::backends::remote) fn has_marked(&self, object: &Value) -> bool {
        let run = self.run.as_deref();
        run.is_some() && object["metadata"]["labels"][RUN].as_str() == run
    }

    /// Returns whether an object belongs to this run, or was created by a controller from a template of this
    /// run.
    pub(in crate::backends::remote) fn has_simulated(&self, resource: &Resource, object: &Value) -> bool {
        let selector = self.pod_spec(resource).map(|pod| format!("{pod}/nodeSelector"));
        let selector = selector.and_then(|selector| object.pointer(&selector));
        self.has_marked(object) || selector.is_some_and(|selector| selector[SIMULATED].is_string())
    }

    /// Returns whether an object is a node of others, which no simulated component sees.
    pub(in crate::backends::remote) fn hides(&self, resource: &Resource, object: &Value) -> bool {
        self.beside_others && is(resource, &NODES) && !object["metadata"]["labels"][SIMULATED].is_string()
    }

    /// Returns the pointers to the marks of a kind.
    pub(in crate::backends::remote) fn places(&self, resource: &Resource) -> Vec<String> {
        let mut places = vec![LABELS.to_owned()];
        if is(resource, &NODES) {
            places.push(TAINTS.to_owned());
        }
        if let Some(pod) = self.pod_spec(resource) {
            places.extend(["tolerations", "nodeSelector"].map(|list| format!("{pod}/{list}")));
        }
        places
    }

    /// Returns the pointer to the pod spec of a kind whose pods must run on simulated nodes.
    fn pod_spec(&self, resource: &Resource) -> Option<String> {
        let templates = [&DEPLOYMENTS, &REPLICA_SETS, &DAEMON_SETS, &STATEFUL_SETS, &JOBS];
        let place = if is(resource, &PODS) {
            "/spec"
        } else if templates.into_iter().any(|other| is(resource, other)) {
            "/spec/template/spec"
        } else if is(resource, &CRON_JOBS) {
            "/spec/jobTemplate/spec/template/spec"
        } else {
            return None;
        };
        self.beside_others.then(|| place.to_owned())
    }
}

/// The toleration of simulated pods in a cluster with real nodes.
pub(super) fn toleration() -> Value {
    json!({ "key": SIMULATED, "operator": "Exists" })
}

fn is(resource: &Resource, other: &Resource) -> bool {
    resource.group == other.group && resource.plural == other.plural
}

/// Sets a key of the map at a pointer; creates the map if necessary.
fn set_key(object: &mut Value, pointer: &str, key: &str, value: &str) {
    let map = entry(object, pointer);
    if !map.is_object() {
        *map = json!({});
    }
    map[key] = json!(value);
}

/// Adds an item to the list at a pointer; creates the list if necessary.
fn push(object: &mut Value, pointer: &str, item: Value) {
    match entry(object, pointer) {
        Value::Array(items) if items.contains(&item) => {}
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

/// Returns the value at a pointer; creates the objects on the way.
pub(in crate::backends::remote) fn entry<'v>(object: &'v mut Value, pointer: &str) -> &'v mut Value {
    pointer.split('/').skip(1).fold(object, |within, field| {
        if !within.is_object() {
            *within = json!({});
        }
        &mut within[field]
    })
}

#[cfg(test)]
mod tests {
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;

    fn marked(beside_others: bool, resource: &Resource, mut object: Value) -> Value {
        let stamp = Stamp { run: Some("r1".to_owned()), beside_others };
        stamp.mark(resource, &mut object);
        object
    }

    #[test]
    fn adds_the_run_to_the_existing_labels() {
        let object = json!({ "metadata": { "name": "a", "labels": { "x": "y" } } });
        let expected = json!({ "metadata": { "name": "a", "labels": { "x": "y", RUN: "r1" } } });
        assert_eq!(marked(true, &CONFIG_MAPS, object.clone()), expected);
        let mut unmarked = object.clone();
        Stamp::default().mark(&CONFIG_MAPS, &mut unmarked);
        assert_eq!(unmarked, object);
    }

    #[test]
    fn taints_simulated_nodes_in_a_cluster_with_real_ones() {
        let taint = json!([{ "key": SIMULATED, "value": "true", "effect": "NoSchedule" }]);
        let node = json!({ "metadata": { "name": "worker-0" }, "spec": {} });
        assert_eq!(marked(true, &NODES, node.clone())["spec"]["taints"], taint);
        let alone = marked(false, &NODES, node);
        assert_eq!((&alone["spec"], &alone["metadata"]["labels"][SIMULATED]), (&json!({}), &json!("true")));
    }

    #[test]
    fn restricts_pods_to_simulated_nodes_in_a_cluster_with_real_ones() {
        let pod = json!({ "spec": { "tolerations": [{ "key": "a" }], "nodeSelector": { "b": "" } } });
        let expected = json!({
            "tolerations": [{ "key": "a" }, { "key": SIMULATED, "operator": "Exists" }],
            "nodeSelector": { "b": "", SIMULATED: "true" },
        });
        let once = marked(true, &PODS, pod.clone());
        assert_eq!(once["spec"], expected);
        assert_eq!(marked(true, &PODS, once)["spec"], expected, "a second mark changes nothing");
        let template = json!({ "spec": { "template": pod } });
        assert_eq!(marked(true, &DEPLOYMENTS, template.clone())["spec"]["template"]["spec"], expected);
        assert_eq!(marked(false, &DEPLOYMENTS, template.clone())["spec"], template["spec"]);
        let incomplete = json!({ "spec": {} });
        assert_eq!(marked(true, &DEPLOYMENTS, incomplete)["spec"], json!({}), "the server rejects it");
    }
}
