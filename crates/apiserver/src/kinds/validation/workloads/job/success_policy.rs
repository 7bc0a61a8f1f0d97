//! Validation of the success policy of a Job (`validateSuccessPolicy`).

use serde_json::Value;

use super::{indexes, is_indexed};
use crate::kinds::validation::{Errors, Path, items, non_negative};

const MOST_RULES: usize = 20;
const MOST_INDEXES: usize = 64 * 1024;

pub(super) fn check(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let policy = &spec["successPolicy"];
    if !is_indexed(spec) {
        let json = shown(policy);
        let syntax = format!("batch.SuccessPolicy{json}");
        errors.invalid_shown(at, json, syntax, "requires indexed completion mode");
        return;
    }
    let (rules, at) = (items(&policy["rules"]), at.child("rules"));
    if rules.is_empty() {
        errors.required(at, "at least one rules must be specified when the successPolicy is specified");
    }
    if rules.len() > MOST_RULES {
        errors.too_many(at, rules.len(), MOST_RULES);
    }
    // A real server crashes on a Job without completions, which is invalid anyway.
    let completions = spec["completions"].as_i64().unwrap_or(0);
    for (index, rule) in rules.iter().enumerate() {
        check_rule(rule, completions, at.index(index), errors);
    }
}

/// A policy as JSON of the internal type.
pub(super) fn shown(policy: &Value) -> String {
    if policy.is_null() {
        return "null".to_owned();
    }
    let rules = items(&policy["rules"]).iter().map(|rule| {
        let (indexes, count) = (&rule["succeededIndexes"], &rule["succeededCount"]);
        format!("{{\"SucceededIndexes\":{indexes},\"SucceededCount\":{count}}}")
    });
    let rules: Vec<String> = rules.collect();
    if rules.is_empty() {
        return "{\"Rules\":null}".to_owned();
    }
    format!("{{\"Rules\":[{}]}}", rules.join(","))
}

fn check_rule(rule: &Value, completions: i64, at: Path<'_>, errors: &mut Errors<'_>) {
    let set = rule["succeededIndexes"].as_str();
    let count = rule["succeededCount"].as_i64();
    if set.is_none() && count.is_none() {
        errors.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let mut total = 0;
    if let Some(set) = set {
        let at = at.child("succeededIndexes");
        if set.len() > MOST_INDEXES {
            errors.too_long(at, MOST_INDEXES as u64);
        }
        match indexes::count(set, completions) {
            Ok(count) => total = count,
            Err(why) => errors.invalid(at, set, format!("error parsing succeededIndexes: {why}")),
        }
    }
    let Some(count) = count else { return };
    let at = at.child("succeededCount");
    non_negative(&rule["succeededCount"], at, errors);
    if count > completions {
        let why =
            format!("must be less than or equal to {completions} (the number of specified completions)");
        errors.invalid(at, count, why);
    }
    if set.is_some() && count > total {
        let why = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(at, count, why);
    }
}
