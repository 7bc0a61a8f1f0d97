//! Marks on the objects of a run, by which it and whoever comes after it find them again.

use serde_json::{Value, json};

use crate::model::Resource;
use crate::model::resources::{
    CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICA_SETS, STATEFUL_SETS,
};

/// The label of every object that a run makes; its value is the id of the run.
pub const RUN: &str = "windtunnel.dev/run";
/// The label of simulated nodes, and their taint where there are others.
pub const SIMULATED: &str = "windtunnel.dev/simulated";

/// What is put on objects as they are created.
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
        label(object, RUN, run);
        let is = |other: &Resource| resource.group == other.group && resource.plural == other.plural;
        if is(&NODES) {
            label(object, SIMULATED, "true");
            if self.beside_others {
                let taint = json!({ "key": SIMULATED, "value": "true", "effect": "NoSchedule" });
                push(&mut object["spec"], "taints", taint);
            }
        } else if !self.beside_others {
        } else if is(&PODS) {
            keep_to_simulated_nodes(&mut object["spec"]);
        } else if [&DEPLOYMENTS, &REPLICA_SETS, &DAEMON_SETS, &STATEFUL_SETS, &JOBS].into_iter().any(is) {
            keep_to_simulated_nodes(&mut object["spec"]["template"]["spec"]);
        } else if is(&CRON_JOBS) {
            keep_to_simulated_nodes(&mut object["spec"]["jobTemplate"]["spec"]["template"]["spec"]);
        }
    }
}

/// Has a pod run on simulated nodes alone.
fn keep_to_simulated_nodes(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    push(spec, "tolerations", json!({ "key": SIMULATED, "operator": "Exists" }));
    if spec["nodeSelector"].is_null() {
        spec["nodeSelector"] = json!({});
    }
    spec["nodeSelector"][SIMULATED] = json!("true");
}

fn label(object: &mut Value, key: &str, value: &str) {
    let metadata = &mut object["metadata"];
    if metadata["labels"].is_null() {
        metadata["labels"] = json!({});
    }
    metadata["labels"][key] = json!(value);
}

/// Adds an item to a list that may not be there yet.
fn push(within: &mut Value, list: &str, item: Value) {
    if within.is_null() {
        *within = json!({});
    }
    match &mut within[list] {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resources::CONFIG_MAPS;

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
        assert_eq!(marked(true, &PODS, pod.clone())["spec"], expected);
        let template = json!({ "spec": { "template": pod } });
        assert_eq!(marked(true, &DEPLOYMENTS, template.clone())["spec"]["template"]["spec"], expected);
        assert_eq!(marked(false, &DEPLOYMENTS, template.clone())["spec"], template["spec"]);
    }
}
