//! Defaults of namespaces, nodes, secrets, role bindings, priorities and flow control.

use serde_json::{Value, json};

use crate::kinds::defaults::{Fields, container, get_or_create, object_in, objects_in_list, set_default};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn namespace(namespace: &mut Fields, _minor: u32) {
    if let Some(status) = object_in(namespace, "status") {
        set_default(status, "phase", "Active");
    }
    let Some(metadata) = get_or_create(namespace, "metadata") else { return };
    let Some(name) = metadata.get("name").cloned() else { return };
    if let Some(labels) = get_or_create(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

pub(super) fn node(node: &mut Fields, _minor: u32) {
    // `podCIDR` always equals the first of `podCIDRs`.
    if let Some(spec) = object_in(node, "spec") {
        match (spec.get("podCIDR").cloned(), spec.get("podCIDRs").and_then(|list| list.get(0)).cloned()) {
            (Some(one), None) => {
                spec.insert("podCIDRs".to_owned(), json!([one]));
            }
            (None, Some(first)) => {
                spec.insert("podCIDR".to_owned(), first);
            }
            (Some(one), Some(first)) if one != first => {
                spec.insert("podCIDRs".to_owned(), json!([one]));
            }
            _ => {}
        }
    }
    if let Some(status) = object_in(node, "status") {
        if let Some(capacity) = status.get("capacity").cloned() {
            set_default(status, "allocatable", capacity);
        }
        container::resource_lists(status, &["capacity", "allocatable"]);
    }
}

/// Encodes `stringData` into `data`. The default type is `Opaque`.
pub(super) fn secret(secret: &mut Fields, _minor: u32) {
    use base64::Engine as _;
    set_default(secret, "type", "Opaque");
    if let Some(Value::Object(texts)) = secret.remove("stringData")
        && let Some(data) = get_or_create(secret, "data")
    {
        for (key, text) in texts {
            let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
            data.insert(key, json!(encoded));
        }
    }
}

pub(super) fn resource_quota(quota: &mut Fields, _minor: u32) {
    for part in ["spec", "status"] {
        if let Some(part) = object_in(quota, part) {
            container::resource_lists(part, &["hard", "used"]);
        }
    }
}

pub(super) fn limit_range(range: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(range, "spec") else { return };
    for item in objects_in_list(spec, "limits") {
        container::resource_lists(item, &["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"]);
        if item.get("type").is_none_or(|of| of != "Container") {
            continue;
        }
        for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            let Some(Value::Object(amounts)) = item.get(from).cloned() else { continue };
            let Some(list) = get_or_create(item, to) else { continue };
            for (name, amount) in amounts {
                list.entry(name).or_insert(amount);
            }
        }
    }
}

pub(super) fn role_binding(binding: &mut Fields, _minor: u32) {
    if let Some(role) = object_in(binding, "roleRef")
        && role.get("apiGroup").is_none_or(|group| group == "")
    {
        role.insert("apiGroup".to_owned(), json!(RBAC));
    }
    for subject in objects_in_list(binding, "subjects") {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            set_default(subject, "apiGroup", RBAC);
        }
    }
}

pub(super) fn priority_class(class: &mut Fields, _minor: u32) {
    set_default(class, "preemptionPolicy", "PreemptLowerPriority");
}

pub(super) fn api_service(service: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(service, "spec")
        && let Some(reference) = object_in(spec, "service")
    {
        set_default(reference, "port", 443);
    }
}

pub(super) fn flow_schema(schema: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(schema, "spec")
        && spec.get("matchingPrecedence").is_none_or(|precedence| *precedence == json!(0))
    {
        spec.insert("matchingPrecedence".to_owned(), json!(1000));
    }
}

pub(super) fn priority_level(level: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(level, "spec") else { return };
    if let Some(exempt) = object_in(spec, "exempt") {
        set_default(exempt, "nominalConcurrencyShares", 0);
        set_default(exempt, "lendablePercent", 0);
    }
    let Some(limited) = object_in(spec, "limited") else { return };
    set_default(limited, "nominalConcurrencyShares", 30);
    set_default(limited, "lendablePercent", 0);
    if let Some(response) = object_in(limited, "limitResponse")
        && let Some(queuing) = object_in(response, "queuing")
    {
        for (field, value) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
            if queuing.get(field).is_none_or(|given| *given == json!(0)) {
                queuing.insert(field.to_owned(), json!(value));
            }
        }
    }
}
