//! Validation of pods, new and updated ones, and of their specification in templates.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::kinds::validation::pods::{container, volume};
use crate::kinds::validation::{Errors, Path, absent, items, one_of, text};
use crate::names;

const UPDATE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: [&str; 4] = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];

pub(in crate::kinds::validation) fn pod(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    if let Some(old) = old {
        update(object, old, errors);
    } else {
        spec(&object["spec"], at, errors);
    }
}

/// Validates the specification of a new pod or of a template (`ValidatePodSpec`).
pub(in crate::kinds::validation) fn spec(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !items(&spec["ephemeralContainers"]).is_empty() {
        errors.forbidden(Path::Field(&at, "ephemeralContainers"), "cannot be set on create");
    }
    fields(spec, at, errors);
}

/// Validates the fields of a specification, for new and updated pods.
fn fields(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let volumes = volume::list(&spec["volumes"], Path::Field(&at, "volumes"), errors);
    let around = container::Pod { volumes: &volumes, host_network: spec["hostNetwork"] == true };
    if items(&spec["containers"]).is_empty() {
        errors.required(Path::Field(&at, "containers"), "");
    }
    let mut names_seen = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        container::list(&spec[list], Path::Field(&at, list), &around, &mut names_seen, errors);
    }
    one_of(&spec["restartPolicy"], &RESTART_POLICIES, Path::Field(&at, "restartPolicy"), errors);
    one_of(&spec["dnsPolicy"], &DNS_POLICIES, Path::Field(&at, "dnsPolicy"), errors);
    for field in ["nodeName", "serviceAccountName", "priorityClassName", "runtimeClassName"] {
        if let Some(name) = spec[field].as_str().filter(|name| !name.is_empty()) {
            errors.each(Path::Field(&at, field), name, names::subdomain(name));
        }
    }
    for field in ["hostname", "subdomain"] {
        if let Some(name) = spec[field].as_str().filter(|name| !name.is_empty()) {
            errors.each(Path::Field(&at, field), name, names::label(name));
        }
    }
    deadline(&spec["activeDeadlineSeconds"], Path::Field(&at, "activeDeadlineSeconds"), errors);
    let selector = Path::Field(&at, "nodeSelector");
    for (key, value) in spec["nodeSelector"].as_object().into_iter().flatten() {
        errors.each(selector, key, names::labels::label_key(key));
        errors.each(selector, text(value), names::labels::label_value(text(value)));
    }
    tolerations(&spec["tolerations"], Path::Field(&at, "tolerations"), errors);
    let gates = Path::Field(&at, "schedulingGates");
    let mut seen = BTreeSet::new();
    for (index, gate) in items(&spec["schedulingGates"]).iter().enumerate() {
        let name = text(&gate["name"]);
        let at = Path::Index(&gates, index);
        errors.each(at, name, names::labels::qualified(name, "a valid label key"));
        if !seen.insert(name) {
            errors.duplicate(at, name);
        }
    }
}

fn deadline(seconds: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    const MOST: i64 = i32::MAX as i64;
    if let Some(seconds) = seconds.as_i64().filter(|seconds| !(1..=MOST).contains(seconds)) {
        errors.invalid(at, seconds, format!("must be between 1 and {MOST}, inclusive"));
    }
}

fn tolerations(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, toleration) in items(list).iter().enumerate() {
        let at = Path::Index(&at, index);
        let key = text(&toleration["key"]);
        if !key.is_empty() {
            errors.each(Path::Field(&at, "key"), key, names::labels::label_key(key));
        }
        let operator = text(&toleration["operator"]);
        if key.is_empty() && operator != "Exists" {
            let why =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(Path::Field(&at, "operator"), operator, why);
        }
        if !toleration["tolerationSeconds"].is_null() && toleration["effect"] != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(Path::Field(&at, "effect"), text(&toleration["effect"]), why);
        }
        let value = text(&toleration["value"]);
        match operator {
            "Equal" | "" => {
                errors.each(Path::Field(&at, "operator"), value, names::labels::label_value(value));
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                errors.invalid(Path::Field(&at, "operator"), value, why);
            }
            "Exists" => {}
            other => errors.unsupported(Path::Field(&at, "operator"), other, &["Equal", "Exists"]),
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        crate::kinds::validation::one_of_if_given(
            &toleration["effect"],
            &effects,
            Path::Field(&at, "effect"),
            errors,
        );
    }
}

/// Rejects changes that an update of a pod must not make (`ValidatePodUpdate`).
fn update(object: &Value, old: &Value, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let (new, before) = (&object["spec"], &old["spec"]);
    if new == before {
        return;
    }
    fields(new, at, errors);
    for list in ["containers", "initContainers"] {
        let at = Path::Field(&at, list);
        if items(&new[list]).len() != items(&before[list]).len() {
            errors.forbidden(at, "pod updates may not add or remove containers");
            return;
        }
        for (index, one) in items(&new[list]).iter().enumerate() {
            if absent(&one["image"]) {
                let at = Path::Index(&at, index);
                errors.required(Path::Field(&at, "image"), "");
            }
        }
    }
    deadline_shortened(&new["activeDeadlineSeconds"], &before["activeDeadlineSeconds"], errors);
    let keeps_tolerations = items(&before["tolerations"])
        .iter()
        .all(|old| items(&new["tolerations"]).iter().any(|new| new == old || same_but_seconds(new, old)));
    if keeps_tolerations {
        tolerations(&new["tolerations"], Path::Field(&at, "tolerations"), errors);
    } else {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden(Path::Field(&at, "tolerations"), why);
    }
    gates_only_removed(new, before, errors);
    if frozen(new) != frozen(before) {
        let why = format!("{UPDATE}\n{}", difference(&frozen(before), &frozen(new)));
        errors.forbidden(at, why);
    }
}

fn same_but_seconds(new: &Value, old: &Value) -> bool {
    ["key", "operator", "value", "effect"].iter().all(|field| new[*field] == old[*field])
}

fn deadline_shortened(new: &Value, old: &Value, errors: &mut Errors<'_>) {
    let spec = Path::Field(&Path::Root, "spec");
    let at = Path::Field(&spec, "activeDeadlineSeconds");
    match (new.as_i64(), old.as_i64()) {
        (Some(new), _) if new < 0 => errors.invalid(at, new, crate::kinds::validation::NON_NEGATIVE),
        (Some(new), Some(old)) if new > old => {
            errors.invalid(at, new, "must be less than or equal to previous value");
        }
        (None, Some(_)) => {
            errors.invalid(at, Value::Null, "must not update from a positive integer to nil value");
        }
        _ => {}
    }
}

fn gates_only_removed(new: &Value, old: &Value, errors: &mut Errors<'_>) {
    let spec = Path::Field(&Path::Root, "spec");
    let at = Path::Field(&spec, "schedulingGates");
    for gate in items(&new["schedulingGates"]) {
        if !items(&old["schedulingGates"]).contains(gate) {
            let why =
                format!("only deletion is allowed, but found new scheduling gate '{}'", text(&gate["name"]));
            errors.forbidden(at, why);
        }
    }
}

/// A specification without the fields that an update may change.
fn frozen(spec: &Value) -> Value {
    const FREE: [&str; 3] = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let gated = !items(&spec["schedulingGates"]).is_empty();
    let mut fields: serde_json::Map<String, Value> = spec
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !(FREE.contains(&name.as_str()) || gated && *name == "nodeSelector"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for list in ["containers", "initContainers"] {
        for container in fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            container["image"] = json!("");
        }
    }
    if fields.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0)
    {
        fields.insert("terminationGracePeriodSeconds".to_owned(), json!(1));
    }
    Value::Object(fields)
}

/// Lists the fields that differ, like a diff; a real server prints Go structs here.
fn difference(old: &Value, new: &Value) -> String {
    let mut lines = String::new();
    let fields = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<BTreeSet<_>>());
    let all = fields(old).unwrap_or_default().into_iter().chain(fields(new).unwrap_or_default());
    for field in all.collect::<BTreeSet<_>>() {
        let (before, after) = (&old[&field], &new[&field]);
        if before != after {
            lines.push_str(&format!("- \t{field}: {before},\n+ \t{field}: {after},\n"));
        }
    }
    lines
}
