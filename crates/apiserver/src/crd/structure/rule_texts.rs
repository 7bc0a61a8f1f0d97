//! Validation of the texts of rules (`x-kubernetes-validations`), without compiling them.

use serde_json::{Value, json};

use super::{list, text};
use crate::field::{FieldError, Shown};
use crate::profile::Profile;
use crate::schema::Structural;
use crate::schema::rules::field_path;

/// Valid values of `reason`.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Returns the errors of the rules of one schema.
pub(super) fn check(schema: &Value, at: &str, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let rules = list(schema, "x-kubernetes-validations").iter().enumerate().filter(|_| profile.rules);
    for (index, rule) in rules {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        errors.extend(check_message(rule, &at));
        if profile.rules_have_expressions {
            errors.extend(check_expression(rule, &at));
        }
        if profile.rules_have_reasons {
            errors.extend(check_reason(rule, &at));
            errors.extend(check_field_path(rule, schema, &at));
        }
    }
    errors
}

/// Checks the texts of rule and message. Returns the first error.
fn check_message(rule: &Value, at: &str) -> Option<FieldError> {
    let (source, message) = (text(rule, "rule"), text(rule, "message"));
    let invalid = |why: &str| Some(FieldError::invalid(format!("{at}.message"), message, why));
    if source.trim().is_empty() {
        Some(FieldError::required(format!("{at}.rule"), "rule is not specified"))
    } else if !message.is_empty() && message.trim().is_empty() {
        invalid("must be non-empty if specified")
    } else if message.trim().contains('\n') {
        invalid("must not contain line breaks")
    } else if source.trim().contains('\n') && message.trim().is_empty() {
        let why = "message must be specified if rule contains line breaks";
        Some(FieldError::required(format!("{at}.message"), why))
    } else {
        None
    }
}

fn check_expression(rule: &Value, at: &str) -> Option<FieldError> {
    let expression = text(rule, "messageExpression");
    let why = "messageExpression must be non-empty if specified";
    let is_blank = !expression.is_empty() && expression.trim().is_empty();
    is_blank.then(|| FieldError::required(format!("{at}.messageExpression"), why))
}

fn check_reason(rule: &Value, at: &str) -> Option<FieldError> {
    let reason = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason))?;
    Some(FieldError::not_supported(format!("{at}.reason"), Shown::Json(json!(reason)), &REASONS))
}

fn check_field_path(rule: &Value, schema: &Value, at: &str) -> Vec<FieldError> {
    let path = text(rule, "fieldPath");
    if path.is_empty() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    if path.trim().is_empty() {
        wrong.push("must be non-empty if specified");
    }
    if path.contains('\n') {
        wrong.push("must not contain line breaks");
    }
    if field_path::resolve(path, &Structural::read(schema)).is_err() {
        wrong.push("must be a valid path");
    }
    wrong.into_iter().map(|why| FieldError::invalid(format!("{at}.fieldPath"), path, why)).collect()
}
