//! Validation of the metrics of autoscalers (`validateMetrics`).

use serde_json::Value;

use super::reference::{self, Groups};
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::resource_names::container_resource_name;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names;

/// Types of sources, in the order of messages.
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// Fields of sources, with their types, in the order in which a real server looks at them.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

/// Validates the metrics of a specification; described objects may be in `groups`.
pub(super) fn check(spec: &Value, groups: Groups, at: Path<'_>, errors: &mut Errors<'_>) {
    let metrics = items(&spec["metrics"]);
    for (index, metric) in metrics.iter().enumerate() {
        check_metric(metric, groups, at.index(index), errors);
    }
    let scales_to_zero = metrics.iter().any(|metric| matches!(text(&metric["type"]), "Object" | "External"));
    if spec["minReplicas"] == 0 && !scales_to_zero {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(at, why);
    }
}

/// Whether a metric describes an object with an invalid version.
pub(super) fn has_invalid_object(metric: &Value) -> bool {
    let version = text(&metric["object"]["describedObject"]["apiVersion"]);
    metric["type"] == "Object"
        && !metric["object"].is_null()
        && reference::version_problem(version, Groups::Any).is_some()
}

fn check_metric(metric: &Value, groups: Groups, at: Path<'_>, errors: &mut Errors<'_>) {
    let (kind, place) = (text(&metric["type"]), at.child("type"));
    if kind.is_empty() {
        errors.required(place, "must specify a metric source type");
    }
    let wanted = SOURCES.iter().find(|(_, name)| *name == kind).map(|(field, _)| *field);
    if wanted.is_none() {
        // A real server checks the type twice, which shows in the causes.
        errors.unsupported(place, kind, &TYPES);
        errors.unsupported(place, kind, &TYPES);
    }
    let mut given = SOURCES.iter().map(|(field, _)| *field).filter(|field| metric[*field].is_object());
    if let Some(first) = given.next() {
        source(&metric[first], first, groups, at.child(first), errors);
        if let Some(second) = given.next() {
            for field in [first, second].into_iter().chain(given).filter(|field| wanted != Some(*field)) {
                errors.forbidden(at.child(field), "must populate the given metric source only");
            }
        }
    }
    if let Some(field) = wanted.filter(|field| metric[*field].is_null()) {
        errors.required(at.child(field), "must populate information for the given metric source");
    }
}

fn source(source: &Value, field: &str, groups: Groups, at: Path<'_>, errors: &mut Errors<'_>) {
    match field {
        "resource" => resource_name(source, at, errors),
        "containerResource" => container_resource(source, at, errors),
        "object" => {
            reference::check(&source["describedObject"], groups, at.child("describedObject"), errors);
            metric_name(&source["metric"], at.child("metric"), errors);
        }
        _ => metric_name(&source["metric"], at.child("metric"), errors),
    }
    let (aim, at) = (&source["target"], at.child("target"));
    target(aim, at, errors);
    let has = |name: &str| !aim[name].is_null();
    let average = at.child("averageValue");
    match field {
        "resource" | "containerResource" => match (has("averageUtilization"), has("averageValue")) {
            (false, false) => {
                let why = "must set either a target raw value or a target utilization";
                errors.required(at.child("averageUtilization"), why);
            }
            (true, true) => {
                errors.forbidden(average, "may not set both a target raw value and a target utilization");
            }
            _ => {}
        },
        "pods" if !has("averageValue") => {
            errors.required(average, "must specify a positive target averageValue");
        }
        "object" if !has("value") && !has("averageValue") => {
            errors.required(average, "must set either a target value or averageValue");
        }
        "external" => match (has("value"), has("averageValue")) {
            (false, false) => {
                errors.required(average, "must set either a target value for metric or a per-pod target");
            }
            (true, true) => {
                let why = "may not set both a target value for metric and a per-pod target";
                errors.forbidden(at.child("value"), why);
            }
            _ => {}
        },
        _ => {}
    }
}

fn resource_name(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if text(&source["name"]).is_empty() {
        errors.required(at.child("name"), "must specify a resource name");
    }
}

fn container_resource(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    resource_name(source, at, errors);
    let (name, container) = (text(&source["name"]), text(&source["container"]));
    if !name.is_empty() {
        container_resource_name(name, at.child("name"), errors);
    }
    if container.is_empty() {
        errors.required(at.child("container"), "must specify a container");
    } else {
        errors.each(at.child("container"), container, names::label(container));
    }
}

/// Requires a name that may be in a path (`validateMetricIdentifier`).
fn metric_name(metric: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&metric["name"]);
    if name.is_empty() {
        errors.required(at.child("name"), "must specify a metric name");
    } else {
        errors.each(at.child("name"), name, names::path_segment(name));
    }
}

fn target(target: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (kind, place) = (text(&target["type"]), at.child("type"));
    if kind.is_empty() {
        errors.required(place, "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        errors.invalid(place, kind, "must be either Utilization, Value, or AverageValue");
    }
    if let Some(percent) = target["averageUtilization"].as_i64().filter(|percent| *percent < 1) {
        errors.invalid(at.child("averageUtilization"), percent, "must be greater than 0");
    }
    for field in ["value", "averageValue"] {
        let given = Quantity::parse(text(&target[field])).ok().flatten();
        if given.is_some_and(|given| !given.is_more(Quantity::ZERO)) {
            errors.invalid(at.child(field), text(&target[field]), "must be positive");
        }
    }
}
