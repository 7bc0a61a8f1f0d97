//! Validation of ReplicationControllers and PodTemplates.

use serde_json::Value;

use crate::kinds::validation::workloads::template;
use crate::kinds::validation::{Errors, Path, absent, non_negative};

/// Validates a pod template object (`ValidatePodTemplate`).
pub(in crate::kinds::validation) fn pod_template(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    template::check(&object["template"], Path::Root.child("template"), errors);
}

/// Validates a ReplicationController (`ValidateReplicationControllerSpec`).
pub(in crate::kinds::validation) fn replication_controller(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    for field in ["minReadySeconds", "replicas"] {
        non_negative(&spec[field], at.child(field), errors);
    }
    if absent(&spec["selector"]) {
        errors.required(at.child("selector"), "");
    }
    let place = at.child("template");
    let template = &spec["template"];
    if template.is_null() {
        errors.required(place, "");
        return;
    }
    let labels = &template["metadata"]["labels"];
    let is_chosen =
        spec["selector"].as_object().into_iter().flatten().all(|(key, value)| labels[key] == *value);
    if !is_chosen {
        template::mismatch(labels, at, errors);
    }
    template::check(template, place, errors);
    template::runs_forever(template, "ReplicationController", place, errors);
}
