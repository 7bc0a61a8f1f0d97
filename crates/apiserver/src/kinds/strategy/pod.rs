//! New pods: their initial status, and the additions of the admission plugins that every server runs.

use serde_json::{Value, json};

use crate::metadata;
use crate::profile::since;

pub(super) fn prepare_create(object: &mut Value, minor: u32) {
    let mut status = json!({ "phase": "Pending", "qosClass": quality_of_service(object) });
    if object["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": null,
        }]);
    }
    object["status"] = status;
    add_default_tolerations(object);
    if minor < since::POD_GENERATION {
        metadata::metadata_mut(object).remove("generation");
    }
}

/// Lets a pod stay on an unready or unreachable node for five minutes, unless it has its own tolerations
/// (`DefaultTolerationSeconds`).
fn add_default_tolerations(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let has = tolerations.iter().any(|toleration| {
            let keyed = toleration["key"] == key || toleration["key"].is_null();
            keyed && (toleration["effect"] == "NoExecute" || toleration["effect"].is_null())
        });
        if !has {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

/// `qosClass`, by requests and limits of all containers.
fn quality_of_service(pod: &Value) -> &'static str {
    let spec_list = |list: &str| pod["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
    let containers = || spec_list("containers").iter().chain(spec_list("initContainers"));
    let has = |container: &Value, part: &str| {
        let list = container["resources"][part].as_object();
        list.is_some_and(|list| ["cpu", "memory"].iter().any(|name| list.contains_key(*name)))
    };
    if containers().all(|container| !has(container, "requests") && !has(container, "limits")) {
        return "BestEffort";
    }
    let guaranteed = containers().all(|container| {
        let (limits, requests) = (&container["resources"]["limits"], &container["resources"]["requests"]);
        ["cpu", "memory"].iter().all(|name| {
            !limits[*name].is_null() && (requests[*name].is_null() || requests[*name] == limits[*name])
        })
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}
