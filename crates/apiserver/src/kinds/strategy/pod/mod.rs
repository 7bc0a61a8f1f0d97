//! Pods: their initial status, what a server removes and keeps, and the additions of the admission plugins that every
//! server runs.

mod disabled;
mod label_keys;
mod profiles;
mod status;

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;

use self::label_keys::merge_label_keys;
use super::Context;
use crate::kinds::quality::quality_of_service;
use crate::metadata;
use crate::profile::since;
pub(super) use disabled::drop_disabled;
pub(super) use profiles::copy_profiles;
pub(super) use status::prepare_status;

pub(super) fn prepare_create(object: &mut Value, context: Context<'_>) {
    let minor = context.minor;
    let mut status = json!({ "phase": "Pending", "qosClass": quality_of_service(object, minor) });
    if object["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": rfc3339(context.now),
        }]);
    }
    object["status"] = status;
    drop_disabled(object, None, minor);
    merge_label_keys(object, minor);
    add_default_tolerations(object);
    if minor < since::POD_GENERATION {
        metadata::metadata_mut(object).remove("generation");
    }
}

/// Adds what admission adds to each pod again if an update leaves it out: tolerations, and the priority that the pod got
/// from its class.
pub(super) fn prepare_update(object: &mut Value, old: &Value, minor: u32) {
    drop_disabled(object, Some(old), minor);
    add_default_tolerations(object);
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["priority", "preemptionPolicy"] {
        if let Some(value) = old["spec"].get(field).filter(|_| !spec.contains_key(field)) {
            spec.insert(field.to_owned(), value.clone());
        }
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
