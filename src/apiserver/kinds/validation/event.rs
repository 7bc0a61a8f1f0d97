//! Events, which both groups have.

use serde_json::Value;

use super::{Errors, Path, absent, text};
use crate::apiserver::names;

/// Checks a new event of the core group.
pub(super) fn event(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    if old.is_some() {
        return;
    }
    let involved = Path::Field(&Path::Root, "involvedObject");
    let namespace = Path::Field(&involved, "namespace");
    let of = text(&object["involvedObject"]["namespace"]);
    let own = text(&object["metadata"]["namespace"]);
    // What belongs to no namespace is told in `default`.
    let home = if of.is_empty() { matches!(own, "default" | "kube-system") } else { of == own };
    if !home {
        errors.invalid(namespace, of, "does not match event.namespace");
    }
    if !absent(&object["eventTime"]) {
        exact(object, errors);
    }
}

/// Checks a new event of `events.k8s.io`.
pub(super) fn new_event(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    event(object, old, errors);
    if old.is_some() {
        return;
    }
    let at = |field| Path::Field(&Path::Root, field);
    if absent(&object["eventTime"]) {
        errors.required(at("eventTime"), "");
    }
    let kind = text(&object["type"]);
    if kind != "Normal" && kind != "Warning" {
        errors.invalid(at("type"), "", format!("has invalid value: {kind}"));
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if !absent(&object[field]) {
            errors.invalid(at(field), "", "needs to be unset");
        }
    }
}

/// What an event with an exact time has to say.
fn exact(object: &Value, errors: &mut Errors<'_>) {
    let at = |field| Path::Field(&Path::Root, field);
    let controller = text(&object["reportingComponent"]);
    if controller.is_empty() {
        errors.required(at("reportingController"), "");
    } else {
        errors.each(at("reportingController"), controller, names::label_key(controller));
    }
    for (field, most) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        let given = text(&object[field]);
        if given.is_empty() {
            errors.required(at(field), "");
        } else if given.len() > most {
            errors.invalid(at(field), "", format!("can have at most {most} characters"));
        }
    }
    if text(&object["message"]).len() > 1024 {
        errors.invalid(at("message"), "", "can have at most 1024 characters");
    }
}
