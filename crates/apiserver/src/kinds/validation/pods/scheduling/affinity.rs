//! Validation of affinity and anti-affinity.

use serde_json::Value;

use super::match_and_mismatch_keys;
use crate::kinds::validation::pods::names::qualified;
use crate::kinds::validation::{Errors, Path, items, node_selector, selector, text};
use crate::names;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Validates the affinity of a pod to nodes and to other pods (`validateAffinity`).
pub(in crate::kinds::validation::pods) fn affinity(affinity: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let nodes = &affinity["nodeAffinity"];
    if nodes.is_object() {
        let at = at.child("nodeAffinity");
        if nodes[REQUIRED].is_object() {
            node_selector::check(&nodes[REQUIRED], at.child(REQUIRED), errors);
        }
        let at = at.child(PREFERRED);
        for (index, preferred) in items(&nodes[PREFERRED]).iter().enumerate() {
            let at = at.index(index);
            weight(preferred, at, errors);
            node_selector::term(&preferred["preference"], true, at.child("preference"), errors);
        }
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        pods(&affinity[field], at.child(field), errors);
    }
}

/// Validates the affinity to other pods (`validatePodAffinity`, `validatePodAntiAffinity`).
fn pods(affinity: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (required, preferred) = (at.child(REQUIRED), at.child(PREFERRED));
    for (index, one) in items(&affinity[REQUIRED]).iter().enumerate() {
        term(one, required.index(index), errors);
    }
    for (index, one) in items(&affinity[PREFERRED]).iter().enumerate() {
        let at = preferred.index(index);
        weight(one, at, errors);
        term(&one["podAffinityTerm"], at.child("podAffinityTerm"), errors);
    }
}

fn weight(term: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let weight = term["weight"].as_i64().unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.invalid(at.child("weight"), weight, "must be in the range 1-100");
    }
}

/// Validates a choice of other pods (`validatePodAffinityTerm`).
fn term(term: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["labelSelector", "namespaceSelector"] {
        selector::check(&term[field], at.child(field), errors);
    }
    for namespace in items(&term["namespaces"]).iter().map(text) {
        errors.each(at.child("namespace"), namespace, names::label(namespace));
    }
    match_and_mismatch_keys(term, at, errors);
    let key = text(&term["topologyKey"]);
    if key.is_empty() {
        errors.required(at.child("topologyKey"), "can not be empty");
    }
    qualified(key, at.child("topologyKey"), errors);
}
