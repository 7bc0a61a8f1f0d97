//! Validation of the metrics of autoscalers (`validateMetrics` of `pkg/apis/autoscaling`).

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{Errors, Path, absent, items, text};

/// Source types, with the field that describes each.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

pub(in crate::kinds::validation) fn check(metrics: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, metric) in items(metrics).iter().enumerate() {
        validate_metric(metric, Path::Index(&at, index), errors);
    }
}

fn validate_metric(metric: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let kind = text(&metric["type"]);
    let place = Path::Field(&at, "type");
    if kind.is_empty() {
        errors.required(place, "must specify a metric source type");
    }
    if !SOURCES.iter().any(|(name, _)| *name == kind) {
        errors.unsupported(place, kind, &SOURCES.map(|(name, _)| name));
    }
    let given: Vec<&str> =
        SOURCES.iter().map(|(_, field)| *field).filter(|field| metric[*field].is_object()).collect();
    if let Some(first) = given.first() {
        source(&metric[*first], first, Path::Field(&at, first), errors);
    }
    let wanted = SOURCES.iter().find(|(name, _)| *name == kind).map(|(_, field)| *field);
    if let Some(field) = wanted.filter(|field| !given.contains(field)) {
        errors.required(Path::Field(&at, field), "must populate information for the given metric source");
    }
    if given.len() != 1 {
        for field in given.into_iter().filter(|field| wanted != Some(*field)) {
            errors.forbidden(Path::Field(&at, field), "must populate the given metric source only");
        }
    }
}

fn source(source: &Value, field: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let aim = Path::Field(&at, "target");
    if field.ends_with("esource") {
        if absent(&source["name"]) {
            errors.required(Path::Field(&at, "name"), "must specify a resource name");
        }
        if field == "containerResource" && absent(&source["container"]) {
            errors.required(Path::Field(&at, "container"), "must specify a container");
        }
    } else if absent(&source["metric"]["name"]) {
        let metric = Path::Field(&at, "metric");
        errors.required(Path::Field(&metric, "name"), "must specify a metric name");
    }
    target(&source["target"], aim, errors);
    let has = |name: &str| !source["target"][name].is_null();
    match field {
        "resource" | "containerResource" => {
            if !has("averageUtilization") && !has("averageValue") {
                let why = "must set either a target raw value or a target utilization";
                errors.required(Path::Field(&aim, "averageUtilization"), why);
            }
            if has("averageUtilization") && has("averageValue") {
                let why = "may not set both a target raw value and a target utilization";
                errors.forbidden(Path::Field(&aim, "averageValue"), why);
            }
        }
        "pods" => {
            if !has("averageValue") {
                errors.required(
                    Path::Field(&aim, "averageValue"),
                    "must specify a positive target averageValue",
                );
            }
        }
        _ => {
            if !has("value") && !has("averageValue") {
                let why = "must set either a target value or averageValue";
                errors.required(Path::Field(&aim, "averageValue"), why);
            }
        }
    }
}

fn target(target: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let kind = text(&target["type"]);
    let place = Path::Field(&at, "type");
    if kind.is_empty() {
        errors.required(place, "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        errors.invalid(place, kind, "must be either Utilization, Value, or AverageValue");
    }
    if let Some(percent) = target["averageUtilization"].as_i64().filter(|percent| *percent < 1) {
        errors.invalid(Path::Field(&at, "averageUtilization"), percent, "must be greater than 0");
    }
    for field in ["value", "averageValue"] {
        let zero = Quantity::parse("0").ok().flatten();
        let given = Quantity::parse(text(&target[field])).ok().flatten();
        if given.zip(zero).is_some_and(|(given, zero)| !given.compare(zero).is_gt()) {
            errors.invalid(Path::Field(&at, field), text(&target[field]), "must be positive");
        }
    }
}
