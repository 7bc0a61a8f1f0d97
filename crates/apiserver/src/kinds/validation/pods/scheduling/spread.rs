//! Validation of topology spread constraints.

use std::collections::BTreeSet;

use serde_json::Value;

use super::match_and_mismatch_keys;
use crate::kinds::validation::pods::names::qualified;
use crate::kinds::validation::{Errors, Path, items, selector, text};
use crate::profile::since;
use crate::repeats::repeated;

const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
const POLICIES: [&str; 2] = ["Honor", "Ignore"];
const NOT_POSITIVE: &str = "must be greater than zero";

/// Validates how pods are spread (`validateTopologySpreadConstraints`).
pub(in crate::kinds::validation::pods) fn spread_constraints(
    list: &Value,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let list = items(list);
    // Of equal ones all but the last are errors.
    let from_end = list.iter().rev();
    let occurs_later =
        repeated(from_end.map(|one| (text(&one["topologyKey"]), text(&one["whenUnsatisfiable"]))));
    for (index, constraint) in list.iter().enumerate() {
        let at = at.index(index);
        let skew = constraint["maxSkew"].as_i64().unwrap_or(0);
        if skew <= 0 {
            errors.invalid(at.child("maxSkew"), skew, NOT_POSITIVE);
        }
        let (key, action) = (text(&constraint["topologyKey"]), text(&constraint["whenUnsatisfiable"]));
        if key.is_empty() {
            errors.required(at.child("topologyKey"), "can not be empty");
        }
        if !ACTIONS.contains(&action) {
            errors.unsupported(at.child("whenUnsatisfiable"), action, &ACTIONS);
        }
        if occurs_later[list.len() - 1 - index] {
            let place = at.child("{topologyKey, whenUnsatisfiable}");
            errors.duplicate(place, format!("{{{key}, {action}}}"));
        }
        min_domains(&constraint["minDomains"], action, at.child("minDomains"), errors);
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(policy) = constraint[field].as_str().filter(|policy| !POLICIES.contains(policy)) {
                errors.unsupported(at.child(field), policy, &POLICIES);
            }
        }
        if errors.profile.minor >= since::MERGED_SPREAD_KEYS {
            match_and_mismatch_keys(constraint, at, errors);
        } else {
            separate_keys(constraint, at.child("matchLabelKeys"), errors);
        }
        selector::check(&constraint["labelSelector"], at.child("labelSelector"), errors);
    }
}

fn min_domains(count: &Value, action: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(count) = count.as_i64() else { return };
    if count <= 0 {
        errors.invalid(at, count, NOT_POSITIVE);
    }
    if action != "DoNotSchedule" {
        let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.invalid(at, count, why);
    }
}

/// Validates keys that the server does not add to the selector (`ValidateMatchLabelKeysInTopologySpread`).
fn separate_keys(constraint: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let choice = &constraint["labelSelector"];
    let keys = items(&constraint["matchLabelKeys"]);
    if choice.is_null() && !keys.is_empty() {
        errors.forbidden(at, "must not be specified when labelSelector is not set");
    }
    let chosen: BTreeSet<&str> =
        items(&choice["matchExpressions"]).iter().map(|one| text(&one["key"])).collect();
    for (index, key) in keys.iter().map(text).enumerate() {
        qualified(key, at.index(index), errors);
        let is_chosen = choice["matchLabels"].get(key).is_some() || chosen.contains(key);
        if is_chosen {
            errors.invalid(at.index(index), key, "exists in both matchLabelKeys and labelSelector");
        }
    }
}
