//! Validation of the pod failure policy of a Job (`validatePodFailurePolicy`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gotext;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names::labels;

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const MOST_RULES: usize = 20;
const MOST_VALUES: usize = 255;
const MOST_PATTERNS: usize = 20;

pub(super) fn check(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (rules, at) = (items(&spec["podFailurePolicy"]["rules"]), at.child("rules"));
    if rules.len() > MOST_RULES {
        errors.too_many(at, rules.len(), MOST_RULES);
    }
    for (index, rule) in rules.iter().enumerate() {
        check_rule(spec, rule, at.index(index), errors);
    }
}

/// A policy as JSON of the internal type.
pub(super) fn shown(policy: &Value) -> String {
    let condition = |one: &Value| format!("{{\"Type\":{},\"Status\":{}}}", one["type"], one["status"]);
    let rules = items(&policy["rules"]).iter().map(|rule| {
        let codes = &rule["onExitCodes"];
        let codes = if codes.is_null() {
            "null".to_owned()
        } else {
            let (name, operator, values) = (&codes["containerName"], &codes["operator"], &codes["values"]);
            format!("{{\"ContainerName\":{name},\"Operator\":{operator},\"Values\":{values}}}")
        };
        let conditions = rule["onPodConditions"].as_array().map_or_else(
            || "null".to_owned(),
            |list| format!("[{}]", list.iter().map(condition).collect::<Vec<_>>().join(",")),
        );
        let action = &rule["action"];
        format!("{{\"Action\":{action},\"OnExitCodes\":{codes},\"OnPodConditions\":{conditions}}}")
    });
    let rules: Vec<String> = rules.collect();
    match policy {
        Value::Null => "null".to_owned(),
        _ if rules.is_empty() => "{\"Rules\":null}".to_owned(),
        _ => format!("{{\"Rules\":[{}]}}", rules.join(",")),
    }
}

fn check_rule(spec: &Value, rule: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("action");
    if rule["action"] == "FailIndex" {
        if spec["backoffLimitPerIndex"].is_null() {
            errors.invalid(place, "FailIndex", "requires the backoffLimitPerIndex to be set");
        }
    } else {
        known(&rule["action"], &ACTIONS, place, errors);
    }
    let (codes, conditions) = (&rule["onExitCodes"], items(&rule["onPodConditions"]));
    if !codes.is_null() {
        exit_codes(spec, codes, at.child("onExitCodes"), errors);
    }
    if !conditions.is_empty() {
        pod_conditions(conditions, at.child("onPodConditions"), errors);
    }
    match (codes.is_null(), conditions.is_empty()) {
        (false, false) => {
            errors.invalid_omitted(at, "specifying both OnExitCodes and OnPodConditions is not supported");
        }
        (true, true) => {
            errors.invalid_omitted(at, "specifying one of OnExitCodes and OnPodConditions is required");
        }
        _ => {}
    }
}

/// Requires one of the `known` strings, and names them if there is none.
fn known(value: &Value, known: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    match text(value) {
        "" => {
            let quoted: Vec<String> = known.iter().map(|name| gotext::quote(name)).collect();
            errors.required(at, &format!("valid values: [{}]", quoted.join(" ")));
        }
        given if !known.contains(&given) => errors.unsupported(at, given, known),
        _ => {}
    }
}

fn exit_codes(spec: &Value, codes: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    known(&codes["operator"], &OPERATORS, at.child("operator"), errors);
    if let Some(name) = codes["containerName"].as_str() {
        let pod = &spec["template"]["spec"];
        let mut containers = items(&pod["containers"]).iter().chain(items(&pod["initContainers"]));
        if !containers.any(|container| container["name"] == name) {
            let why = "must be one of the container or initContainer names in the pod template";
            errors.invalid(at.child("containerName"), name, why);
        }
    }
    let (values, at) = (items(&codes["values"]), at.child("values"));
    if values.is_empty() {
        errors.invalid(at, codes["values"].clone(), "at least one value is required");
    } else if values.len() > MOST_VALUES {
        errors.too_many(at, values.len(), MOST_VALUES);
    }
    let numbers: Vec<i64> = values.iter().map(|value| value.as_i64().unwrap_or(0)).collect();
    let mut seen = BTreeSet::new();
    for (index, number) in numbers.iter().enumerate() {
        if *number == 0 && codes["operator"] == "In" {
            errors.invalid(at.index(index), 0, "must not be 0 for the In operator");
        }
        if !seen.insert(number) {
            errors.duplicate(at.index(index), *number);
        }
    }
    if !numbers.is_sorted() {
        errors.invalid(at, codes["values"].clone(), "must be ordered");
    }
}

fn pod_conditions(patterns: &[Value], at: Path<'_>, errors: &mut Errors<'_>) {
    if patterns.len() > MOST_PATTERNS {
        errors.too_many(at, patterns.len(), MOST_PATTERNS);
    }
    for (index, pattern) in patterns.iter().enumerate() {
        let at = at.index(index);
        let kind = text(&pattern["type"]);
        errors.each(at.child("type"), kind, labels::label_key(kind));
        known(&pattern["status"], &STATUSES, at.child("status"), errors);
    }
}
