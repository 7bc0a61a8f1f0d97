//! Marks on the objects of a run, by which it and whoever comes after it find them again.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::resources::{
    CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICA_SETS, STATEFUL_SETS,
};

/// The label of every object that a run makes; its value is the id of the run.
pub const RUN: &str = "windtunnel.dev/run";
/// The label of simulated nodes, and their taint where there are others.
pub const SIMULATED: &str = "windtunnel.dev/simulated";

/// Where the labels of every object are.
const LABELS: &str = "/metadata/labels";
/// Where the taints of a node are.
const TAINTS: &str = "/spec/taints";

/// The marks of a run, on what it creates and on what is left after each write to that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamp {
    /// The id of the run; `None` in a cluster that is thrown away with everything in it.
    pub(crate) run: Option<String>,
    /// Whether the cluster has nodes of its own, which are left alone.
    pub(crate) beside_others: bool,
}

impl Stamp {
    /// Marks an object that is about to be created.
    pub(super) fn mark(&self, resource: &Resource, object: &mut Value) {
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

    /// The marks that an object of the run lacks: the pointer of each, and the value that belongs there.
    pub(super) fn missing(&self, resource: &Resource, object: &Value) -> Vec<(String, Value)> {
        let mut marked = object.clone();
        self.mark(resource, &mut marked);
        let places = self.places(resource).into_iter();
        let missing = places.filter(|place| marked.pointer(place) != object.pointer(place));
        missing.filter_map(|place| marked.pointer(&place).cloned().map(|value| (place, value))).collect()
    }

    /// Whether an object is one of this run's.
    pub(super) fn has_marked(&self, object: &Value) -> bool {
        let run = self.run.as_deref();
        run.is_some() && object["metadata"]["labels"][RUN].as_str() == run
    }

    /// Whether an object is one of this run's, or one that a controller made by the template of one.
    pub(super) fn has_simulated(&self, resource: &Resource, object: &Value) -> bool {
        let selector = self.pod_spec(resource).map(|pod| format!("{pod}/nodeSelector"));
        let selector = selector.and_then(|selector| object.pointer(&selector));
        self.has_marked(object) || selector.is_some_and(|selector| selector[SIMULATED].is_string())
    }

    /// Where the marks of a kind are.
    pub(super) fn places(&self, resource: &Resource) -> Vec<String> {
        let mut places = vec![LABELS.to_owned()];
        if is(resource, &NODES) {
            places.push(TAINTS.to_owned());
        }
        if let Some(pod) = self.pod_spec(resource) {
            places.extend(["tolerations", "nodeSelector"].map(|list| format!("{pod}/{list}")));
        }
        places
    }

    /// Where a kind has the spec of pods that have to keep to simulated nodes.
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

/// Allows a pod on simulated nodes.
fn toleration() -> Value {
    json!({ "key": SIMULATED, "operator": "Exists" })
}

fn is(resource: &Resource, other: &Resource) -> bool {
    resource.group == other.group && resource.plural == other.plural
}

/// Sets a key of the map at a pointer, which may not be there yet.
fn set_key(object: &mut Value, pointer: &str, key: &str, value: &str) {
    let map = entry(object, pointer);
    if !map.is_object() {
        *map = json!({});
    }
    map[key] = json!(value);
}

/// Adds an item to the list at a pointer, which may not be there yet.
fn push(object: &mut Value, pointer: &str, item: Value) {
    match entry(object, pointer) {
        Value::Array(items) if items.contains(&item) => {}
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

/// The value at a pointer; objects on the way there are made.
pub(super) fn entry<'v>(object: &'v mut Value, pointer: &str) -> &'v mut Value {
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
    fn every_object_tells_its_run_and_keeps_what_it_has() {
        let object = json!({ "metadata": { "name": "a", "labels": { "x": "y" } } });
        let expected = json!({ "metadata": { "name": "a", "labels": { "x": "y", RUN: "r1" } } });
        assert_eq!(marked(true, &CONFIG_MAPS, object.clone()), expected);
        let mut unmarked = object.clone();
        Stamp::default().mark(&CONFIG_MAPS, &mut unmarked);
        assert_eq!(unmarked, object);
    }

    #[test]
    fn simulated_nodes_keep_others_away_where_there_are_others() {
        let taint = json!([{ "key": SIMULATED, "value": "true", "effect": "NoSchedule" }]);
        let node = json!({ "metadata": { "name": "worker-0" }, "spec": {} });
        assert_eq!(marked(true, &NODES, node.clone())["spec"]["taints"], taint);
        let alone = marked(false, &NODES, node);
        assert_eq!((&alone["spec"], &alone["metadata"]["labels"][SIMULATED]), (&json!({}), &json!("true")));
    }

    #[test]
    fn pods_keep_to_simulated_nodes_where_there_are_others() {
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
