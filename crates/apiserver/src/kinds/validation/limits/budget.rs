//! Validation of disruption budgets (`ValidatePodDisruptionBudgetSpec`).

use serde_json::Value;

use crate::kinds::validation::workloads::amount;
use crate::kinds::validation::{Errors, Path, conditions, non_negative, selector, text};

const EVICTION_POLICIES: [&str; 2] = ["AlwaysAllow", "IfHealthyBudget"];
const COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// Validates a budget.
pub(in crate::kinds::validation) fn budget(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let json = shown(spec);
        let syntax = format!("policy.PodDisruptionBudgetSpec{json}");
        errors.invalid_shown(at, json, syntax, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in ["minAvailable", "maxUnavailable"].into_iter().filter(|field| !spec[*field].is_null()) {
        amount::check(&spec[field], at.child(field), errors);
        amount::at_most_all(&spec[field], at.child(field), errors);
    }
    if spec["selector"].is_object() {
        let before = errors.found.len();
        selector::check(&spec["selector"], at.child("selector"), errors);
        if errors.found.len() > before && old.is_some_and(|old| old["spec"]["selector"] == spec["selector"]) {
            // A selector that was invalid before may stay so.
            errors.found.truncate(before);
        }
    }
    if let Some(policy) = spec["unhealthyPodEvictionPolicy"].as_str()
        && !EVICTION_POLICIES.contains(&policy)
    {
        errors.unsupported(at.child("unhealthyPodEvictionPolicy"), policy, &EVICTION_POLICIES);
    }
}

/// A specification as JSON of the internal type.
fn shown(spec: &Value) -> String {
    let text_or_null = |field: &str| spec[field].to_string();
    format!(
        "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
        text_or_null("minAvailable"),
        selector::json(&spec["selector"]),
        text_or_null("maxUnavailable"),
        text_or_null("unhealthyPodEvictionPolicy"),
    )
}

/// Validates the status of a budget (`ValidatePodDisruptionBudgetStatusUpdate`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    let status = &object["status"];
    conditions::check(&status["conditions"], at.child("conditions"), errors);
    if text(&object["apiVersion"]) == "policy/v1beta1" {
        return;
    }
    for field in COUNTS {
        non_negative(&status[field], at.child(field), errors);
    }
}
