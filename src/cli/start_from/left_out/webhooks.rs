//! Webhooks that fail closed and cannot answer, and admission policies of the user.

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::condition::is_true;
use windtunnel_core::resources::{
    ENDPOINT_SLICES, ENDPOINTS, MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PODS, SERVICES,
    VALIDATING_ADMISSION_POLICIES, VALIDATING_WEBHOOK_CONFIGURATIONS,
};
use windtunnel_core::selector::selector_matches;

use super::{Dump, Found, left_out};
use crate::dump::origin::is_of_openshift;

/// Finds the webhooks that reject writes of an update because they do not answer, and policies that may reject them.
pub(super) fn find<'d>(dump: &Dump<'d>) -> Vec<Found<'d>> {
    let validating = dump.all(&VALIDATING_WEBHOOK_CONFIGURATIONS);
    let configurations = validating.chain(dump.all(&MUTATING_WEBHOOK_CONFIGURATIONS));
    let webhooks =
        configurations.filter(|configuration| !is_of_openshift(configuration)).filter_map(|configuration| {
            let why = configuration.list("/webhooks").iter().find_map(|webhook| unanswered(dump, webhook))?;
            Some((configuration, left_out(configuration, why)))
        });
    let policies = dump.all(&VALIDATING_ADMISSION_POLICIES).filter(|policy| !is_of_openshift(policy));
    let policies =
        policies.filter(|policy| policy.text("/spec/failurePolicy") != "Ignore" && denies(dump, policy));
    let policies = policies.map(|policy| {
        (policy, left_out(policy, "the policy may reject writes of an update, and the run does not ask it"))
    });
    webhooks.chain(policies).collect()
}

/// Why a webhook rejects writes of an update; `None` if it answers, fails open, or sees none of them.
fn unanswered(dump: &Dump<'_>, webhook: &Value) -> Option<String> {
    let fails_closed = webhook["failurePolicy"] != "Ignore";
    if !fails_closed || !sees_updates(dump, webhook) {
        return None;
    }
    let name = webhook["name"].as_str().unwrap_or_default();
    let service = &webhook["clientConfig"]["service"];
    let (Some(namespace), Some(service)) = (service["namespace"].as_str(), service["name"].as_str()) else {
        let url = webhook["clientConfig"]["url"].as_str().unwrap_or_default();
        return Some(format!(
            "webhook {name} fails closed, and the dump does not show whether {url} answers"
        ));
    };
    match has_endpoints(dump, namespace, service) {
        Some(true) => None,
        Some(false) => Some(format!(
            "webhook {name} fails closed, and its Service {namespace}/{service} has no ready endpoint, so that its writes are \
             rejected"
        )),
        None => Some(format!(
            "webhook {name} fails closed, and the dump does not show whether its Service {namespace}/{service} has endpoints"
        )),
    }
}

/// Whether a webhook sees kinds that an update writes, in a namespace of the dump.
fn sees_updates(dump: &Dump<'_>, webhook: &Value) -> bool {
    let rules = webhook["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let sees_kinds = rules.iter().any(|rule| {
        let groups = rule["apiGroups"].as_array().map_or(&[][..], Vec::as_slice);
        groups.iter().filter_map(Value::as_str).any(is_group_of_updates)
    });
    let selector = &webhook["namespaceSelector"];
    let mut namespaces = dump.all(&NAMESPACES).peekable();
    let sees_namespaces = selector.is_null()
        || namespaces.peek().is_none()
        || namespaces.any(|namespace| selector_matches(selector, &namespace["metadata"]["labels"]));
    sees_kinds && sees_namespaces
}

/// Whether the kinds of a group are Kubernetes' or OpenShift's own.
fn is_group_of_updates(group: &str) -> bool {
    let is_kubernetes = !group.contains('.') || group.ends_with(".k8s.io") || group == "policy";
    is_kubernetes || group.ends_with(".openshift.io")
}

/// Whether a Service has a ready endpoint; `None` if the dump does not show it.
fn has_endpoints(dump: &Dump<'_>, namespace: &str, service: &str) -> Option<bool> {
    let within = |object: &&Object| object.namespace() == namespace;
    let slices: Vec<&Object> = dump
        .all(&ENDPOINT_SLICES)
        .filter(within)
        .filter(|slice| slice.label("kubernetes.io/service-name") == Some(service))
        .collect();
    if !slices.is_empty() {
        let is_ready = |endpoint: &Value| endpoint["conditions"]["ready"] != false;
        return Some(slices.iter().any(|slice| slice.list("/endpoints").iter().any(is_ready)));
    }
    if let Some(endpoints) = dump.all(&ENDPOINTS).filter(within).find(|found| found.name() == service) {
        let has_addresses =
            |subset: &Value| subset["addresses"].as_array().is_some_and(|found| !found.is_empty());
        return Some(endpoints.list("/subsets").iter().any(has_addresses));
    }
    let Some(found) = dump.all(&SERVICES).filter(within).find(|found| found.name() == service) else {
        // A dump with Services of other namespaces only does not show this one.
        return dump.all(&SERVICES).any(|other| other.namespace() == namespace).then_some(false);
    };
    let labels = found["spec"]["selector"].as_object()?;
    let selector = serde_json::json!({ "matchLabels": labels });
    let mut pods = dump.all(&PODS).filter(within);
    Some(pods.any(|pod| selector_matches(&selector, &pod["metadata"]["labels"]) && is_true(pod, "Ready")))
}

/// Whether a binding makes a policy reject.
fn denies(dump: &Dump<'_>, policy: &Object) -> bool {
    dump.of_kind("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding").any(|binding| {
        binding.text("/spec/policyName") == policy.name()
            && binding.list("/spec/validationActions").iter().any(|action| action == "Deny")
    })
}
