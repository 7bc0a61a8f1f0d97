//! Defaults of webhook configurations and admission policies.

use serde_json::json;

use super::{Fields, object_in, objects_in_list, set_default};

pub(super) fn webhooks(configuration: &mut Fields, _minor: u32) {
    for webhook in objects_in_list(configuration, "webhooks") {
        set_default(webhook, "failurePolicy", "Fail");
        set_default(webhook, "timeoutSeconds", 10);
        match_resources(webhook, "rules");
        if let Some(client) = object_in(webhook, "clientConfig")
            && let Some(service) = object_in(client, "service")
        {
            set_default(service, "port", 443);
        }
    }
}

pub(super) fn mutating_webhooks(configuration: &mut Fields, minor: u32) {
    webhooks(configuration, minor);
    for webhook in objects_in_list(configuration, "webhooks") {
        set_default(webhook, "reinvocationPolicy", "Never");
    }
}

/// Defaults of the admission scope: all namespaces, all objects, equivalent versions, both scopes.
fn match_resources(resources: &mut Fields, rules: &str) {
    set_default(resources, "matchPolicy", "Equivalent");
    set_default(resources, "namespaceSelector", json!({}));
    set_default(resources, "objectSelector", json!({}));
    for rule in objects_in_list(resources, rules) {
        set_default(rule, "scope", "*");
    }
}

pub(super) fn admission_policy(policy: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(policy, "spec") else { return };
    set_default(spec, "failurePolicy", "Fail");
    if let Some(constraints) = object_in(spec, "matchConstraints") {
        match_resources(constraints, "resourceRules");
    }
}

pub(super) fn admission_policy_binding(binding: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(binding, "spec")
        && let Some(resources) = object_in(spec, "matchResources")
    {
        match_resources(resources, "resourceRules");
    }
}
