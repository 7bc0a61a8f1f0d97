//! Validation of the resources that policies match and of the kind of their parameters.

use serde_json::Value;

use super::{list, text};
use crate::admission::matching::check::{check_given, check_rule, check_selector};
use crate::field::{Cause, FieldError, Shown};
use crate::names;
use crate::repeats::repeated;

const MUTATING_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const POLICIES: [&str; 2] = ["Equivalent", "Exact"];

/// Validates match resources (`validateMatchResources`). Defaults are already set.
pub(super) fn match_resources(resources: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_given(&resources["matchPolicy"], &POLICIES, &format!("{at}.matchPolicy"), &mut errors);
    for field in ["namespaceSelector", "objectSelector"] {
        check_selector(&resources[field], &format!("{at}.{field}"), &mut errors);
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(&resources[field]).iter().enumerate() {
            let at = format!("{at}.{field}[{index}]");
            errors.extend(resource_names(list(&rule["resourceNames"]), &format!("{at}.resourceNames")));
            check_rule(rule, &at, &mut errors);
        }
    }
    errors
}

/// Rejects operations that no policy can change: deleted objects stay as they are.
pub(super) fn mutating_operations(resources: &Value, at: &str) -> Vec<FieldError> {
    let rules = list(&resources["resourceRules"]).iter();
    let wrong = rules
        .flat_map(|rule| list(&rule["operations"]))
        .filter(|operation| !MUTATING_OPERATIONS.iter().any(|known| *operation == known));
    wrong
        .map(|given| FieldError::not_supported(at, Shown::Json(given.clone()), &MUTATING_OPERATIONS))
        .collect()
}

fn resource_names(given: &[Value], at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_repeated = repeated(given.iter().map(Value::to_string));
    for (index, name) in given.iter().enumerate() {
        let (text, at) = (text(name), format!("{at}[{index}]"));
        let wrong = names::path_segment(&text).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(at.as_str(), text.as_str(), why)));
        if is_repeated[index] {
            errors.push(FieldError::new(Cause::Duplicate, at, name.clone(), ""));
        }
    }
    errors
}

/// Validates a `paramKind` (`validateParamKind`).
pub(super) fn param_kind(param_kind: &Value, at: &str) -> Vec<FieldError> {
    let (full, kind) = (text(&param_kind["apiVersion"]), text(&param_kind["kind"]));
    let mut errors = api_version(&full, &format!("{at}.apiVersion"));
    let at = format!("{at}.kind");
    if kind.is_empty() {
        errors.push(FieldError::required(at, ""));
        return errors;
    }
    let wrong = names::dns1035_label(&kind.to_lowercase());
    if !wrong.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        errors.push(FieldError::invalid(at, kind, why));
    }
    errors
}

fn api_version(full: &str, at: &str) -> Vec<FieldError> {
    let invalid = |value: &str, why: String| FieldError::invalid(at, value, why);
    if full.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let (group, version) = match full.split('/').collect::<Vec<_>>().as_slice() {
        ["", ""] => ("", ""),
        [version] => ("", *version),
        [group, version] => (*group, *version),
        _ => return vec![invalid(full, format!("unexpected GroupVersion string: {full}"))],
    };
    let mut errors = Vec::new();
    let wrong = names::subdomain(group);
    if !group.is_empty() && !wrong.is_empty() {
        errors.push(invalid(group, wrong.join(",")));
    }
    let wrong = names::dns1035_label(version);
    if version.is_empty() {
        errors.push(invalid(full, "version must be specified".to_owned()));
    } else if !wrong.is_empty() {
        errors.push(invalid(version, wrong.join(",")));
    }
    errors
}
