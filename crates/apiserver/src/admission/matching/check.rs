//! Validation of the rules and selectors of webhooks and policies.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::field::{FieldError, Shown};
use crate::names;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub(in crate::admission) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

pub(in crate::admission) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Rejects an unknown word. The callers check for empty words.
pub(in crate::admission) fn check_known(word: &str, known: &[&str], at: &str, errors: &mut Vec<FieldError>) {
    if !word.is_empty() && !known.contains(&word) {
        errors.push(FieldError::not_supported(at, Shown::Json(json!(word)), known));
    }
}

/// Rejects an unknown word of an optional field. An empty one is unknown too.
pub(in crate::admission) fn check_given(
    value: &Value,
    known: &[&str],
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    if value.as_str().is_some_and(|word| !known.contains(&word)) {
        errors.push(FieldError::not_supported(at, Shown::Json(value.clone()), known));
    }
}

/// Validates a rule (`RuleWithOperations`).
pub(in crate::admission) fn check_rule(rule: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (field, what) in
        [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
    {
        let (given, at) = (list(rule, field), format!("{at}.{field}"));
        if given.is_empty() {
            errors.push(FieldError::required(at.as_str(), ""));
        }
        if given.len() > 1 && given.iter().any(|item| item == "*") {
            let why = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::invalid(at.as_str(), json!(given), why));
        }
        for (index, item) in given.iter().enumerate() {
            let (word, at) = (item.as_str().unwrap_or_default(), format!("{at}[{index}]"));
            if field == "operations" && !OPERATIONS.contains(&word) {
                errors.push(FieldError::not_supported(at, Shown::Json(json!(word)), &OPERATIONS));
            } else if field == "apiVersions" && word.is_empty() {
                errors.push(FieldError::required(at, ""));
            }
        }
    }
    check_resources(list(rule, "resources"), &format!("{at}.resources"), errors);
    check_given(&rule["scope"], &["*", "Cluster", "Namespaced"], &format!("{at}.scope"), errors);
}

fn check_resources(resources: &[Value], at: &str, errors: &mut Vec<FieldError>) {
    if resources.is_empty() {
        errors.push(FieldError::required(at, ""));
    }
    let names: Vec<&str> = resources.iter().map(|item| item.as_str().unwrap_or_default()).collect();
    let mut first = BTreeMap::new();
    for (index, name) in names.iter().enumerate() {
        first.entry(*name).or_insert(index);
    }
    for (index, name) in names.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let Some((resource, subresource)) = name.split_once('/') else {
            if name.is_empty() {
                errors.push(FieldError::required(at, ""));
            }
            continue;
        };
        for wildcard in [format!("{resource}/*"), format!("*/{subresource}")] {
            if first.get(wildcard.as_str()).is_some_and(|first| *first < index) {
                let why = format!("if '{wildcard}' is present, must not specify {name}");
                errors.push(FieldError::invalid(at.as_str(), *name, why));
            }
        }
    }
    if names.len() > 1 && names.contains(&"*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(at, json!(names), why));
    }
    // Like the real server, this looks only at the last resource without subresource.
    let last = names.iter().rfind(|name| !name.contains('/') && !name.is_empty());
    if names.contains(&"*") && last.is_some_and(|name| *name != "*") {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(at, json!(names), why));
    }
}

/// Validates a label selector.
pub(in crate::admission) fn check_selector(selector: &Value, at: &str, errors: &mut Vec<FieldError>) {
    errors.extend(names::selector::check(selector).into_iter().map(|error| error.below(at)));
}
