//! Validation of how an autoscaler scales (`validateScalingRules`).

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{Errors, NON_NEGATIVE, Path, items, text};

const SELECT_POLICIES: [&str; 3] = ["Disabled", "Max", "Min"];
const TYPES: [&str; 2] = ["Percent", "Pods"];
const MOST_WINDOW: i64 = 3600;
const MOST_PERIOD: i64 = 1800;

/// Validates the rules for one direction, if there are any.
pub(super) fn check(rules: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if rules.is_null() {
        return;
    }
    if let Some(seconds) = rules["stabilizationWindowSeconds"].as_i64() {
        let at = at.child("stabilizationWindowSeconds");
        if seconds < 0 {
            errors.invalid(at, seconds, "must be greater than or equal to zero");
        }
        at_most(seconds, MOST_WINDOW, at, errors);
    }
    if let Some(policy) = rules["selectPolicy"].as_str().filter(|policy| !SELECT_POLICIES.contains(policy)) {
        errors.unsupported(at.child("selectPolicy"), policy, &SELECT_POLICIES);
    }
    let (policies, place) = (items(&rules["policies"]), at.child("policies"));
    if policies.is_empty() {
        errors.required(place, "must specify at least one Policy");
    }
    for (index, policy) in policies.iter().enumerate() {
        check_policy(policy, place.index(index), errors);
    }
    let tolerance = Quantity::parse(text(&rules["tolerance"])).ok().flatten();
    if tolerance.is_some_and(Quantity::is_negative) {
        errors.invalid(at.child("tolerance"), rules["tolerance"].clone(), NON_NEGATIVE);
    }
}

fn at_most(number: i64, most: i64, at: Path<'_>, errors: &mut Errors<'_>) {
    if number > most {
        errors.invalid(at, number, format!("must be less than or equal to {most}"));
    }
}

fn check_policy(policy: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let kind = text(&policy["type"]);
    if !TYPES.contains(&kind) {
        errors.unsupported(at.child("type"), kind, &TYPES);
    }
    for field in ["value", "periodSeconds"] {
        let number = policy[field].as_i64().unwrap_or(0);
        if number <= 0 {
            errors.invalid(at.child(field), number, "must be greater than zero");
        }
    }
    at_most(policy["periodSeconds"].as_i64().unwrap_or(0), MOST_PERIOD, at.child("periodSeconds"), errors);
}
