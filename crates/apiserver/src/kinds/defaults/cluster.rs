//! Defaults of all other kinds: namespaces, nodes, secrets, access, admission, priorities.

use serde_json::{Value, json};

use super::{Fields, each, made, set, within};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn namespace(namespace: &mut Fields, _minor: u32) {
    let Some(metadata) = made(namespace, "metadata") else { return };
    let Some(name) = metadata.get("name").cloned() else { return };
    if let Some(labels) = made(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

pub(super) fn node(node: &mut Fields, _minor: u32) {
    // `podCIDR` always equals the first of `podCIDRs`.
    if let Some(spec) = within(node, "spec") {
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
    if let Some(status) = within(node, "status")
        && let Some(capacity) = status.get("capacity").cloned()
    {
        set(status, "allocatable", capacity);
    }
}

/// Encodes `stringData` into `data`. The default type is `Opaque`.
pub(super) fn secret(secret: &mut Fields, _minor: u32) {
    use base64::Engine as _;
    set(secret, "type", "Opaque");
    if let Some(Value::Object(texts)) = secret.remove("stringData")
        && let Some(data) = made(secret, "data")
    {
        for (key, text) in texts {
            let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
            data.insert(key, json!(encoded));
        }
    }
}

pub(super) fn limit_range(range: &mut Fields, _minor: u32) {
    let Some(spec) = within(range, "spec") else { return };
    for item in each(spec, "limits") {
        if item.get("type").is_none_or(|of| of != "Container") {
            continue;
        }
        for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            let Some(Value::Object(amounts)) = item.get(from).cloned() else { continue };
            let Some(list) = made(item, to) else { continue };
            for (name, amount) in amounts {
                list.entry(name).or_insert(amount);
            }
        }
    }
}

pub(super) fn role_binding(binding: &mut Fields, _minor: u32) {
    if let Some(role) = within(binding, "roleRef")
        && role.get("apiGroup").is_none_or(|group| group == "")
    {
        role.insert("apiGroup".to_owned(), json!(RBAC));
    }
    for subject in each(binding, "subjects") {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            set(subject, "apiGroup", RBAC);
        }
    }
}

pub(super) fn priority_class(class: &mut Fields, _minor: u32) {
    set(class, "preemptionPolicy", "PreemptLowerPriority");
}

pub(super) fn webhooks(configuration: &mut Fields, _minor: u32) {
    for webhook in each(configuration, "webhooks") {
        set(webhook, "failurePolicy", "Fail");
        set(webhook, "timeoutSeconds", 10);
        matching(webhook, "rules");
        if let Some(client) = within(webhook, "clientConfig")
            && let Some(service) = within(client, "service")
        {
            set(service, "port", 443);
        }
    }
}

pub(super) fn mutating_webhooks(configuration: &mut Fields, minor: u32) {
    webhooks(configuration, minor);
    for webhook in each(configuration, "webhooks") {
        set(webhook, "reinvocationPolicy", "Never");
    }
}

/// Defaults of the admission scope: all namespaces, all objects, equivalent versions, both scopes.
fn matching(resources: &mut Fields, rules: &str) {
    set(resources, "matchPolicy", "Equivalent");
    set(resources, "namespaceSelector", json!({}));
    set(resources, "objectSelector", json!({}));
    for rule in each(resources, rules) {
        set(rule, "scope", "*");
    }
}

pub(super) fn admission_policy(policy: &mut Fields, _minor: u32) {
    let Some(spec) = within(policy, "spec") else { return };
    set(spec, "failurePolicy", "Fail");
    if let Some(constraints) = within(spec, "matchConstraints") {
        matching(constraints, "resourceRules");
    }
}

pub(super) fn admission_policy_binding(binding: &mut Fields, _minor: u32) {
    if let Some(spec) = within(binding, "spec")
        && let Some(resources) = within(spec, "matchResources")
    {
        matching(resources, "resourceRules");
    }
}

pub(super) fn api_service(service: &mut Fields, _minor: u32) {
    if let Some(spec) = within(service, "spec")
        && let Some(reference) = within(spec, "service")
    {
        set(reference, "port", 443);
    }
}

pub(super) fn flow_schema(schema: &mut Fields, _minor: u32) {
    if let Some(spec) = within(schema, "spec")
        && spec.get("matchingPrecedence").is_none_or(|precedence| *precedence == json!(0))
    {
        spec.insert("matchingPrecedence".to_owned(), json!(1000));
    }
}

pub(super) fn priority_level(level: &mut Fields, _minor: u32) {
    let Some(spec) = within(level, "spec") else { return };
    let Some(limited) = within(spec, "limited") else { return };
    set(limited, "nominalConcurrencyShares", 30);
    set(limited, "lendablePercent", 0);
    if let Some(response) = within(limited, "limitResponse")
        && let Some(queuing) = within(response, "queuing")
    {
        for (field, value) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
            if queuing.get(field).is_none_or(|given| *given == json!(0)) {
                queuing.insert(field.to_owned(), json!(value));
            }
        }
    }
}
