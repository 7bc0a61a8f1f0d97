//! Pods: their initial status, and what a server removes and keeps.

mod disabled;
mod label_keys;
mod profiles;
mod status_writes;

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;

use self::label_keys::merge_label_keys;
use super::Context;
use crate::kinds::quality::quality_of_service;
use crate::metadata;
use crate::profile::since;
pub(super) use disabled::drop_disabled;
pub(super) use profiles::copy_profiles;
pub(super) use status_writes::prepare_status;

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
    if minor < since::POD_GENERATION {
        metadata::metadata_mut(object).remove("generation");
    }
}

pub(super) fn prepare_update(object: &mut Value, old: &Value, minor: u32) {
    drop_disabled(object, Some(old), minor);
}
