//! Validation of `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration`.

use serde_json::{Value, json};

use super::client;
use crate::admission::policy::conditions;
use crate::admission::policy::expression::Declared;
use crate::field::{Cause, FieldError, Shown};
use crate::kinds::Kind;
use crate::names;
use crate::profile::Profile;

/// The versions of `AdmissionReview` that the server supports.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/// Whether a kind configures webhooks.
pub(crate) fn is_configuration(kind: &Kind) -> bool {
    kind.resource.group == "admissionregistration.k8s.io"
        && kind.resource.plural.ends_with("webhookconfigurations")
}

/// Validates a configuration.
pub(crate) fn check(kind: &Kind, object: &Value, old: Option<&Value>, profile: &Profile) -> Vec<FieldError> {
    let mutating = kind.resource.plural.starts_with("mutating");
    let webhooks = list(object, "webhooks");
    let before = old.map(|old| list(old, "webhooks"));
    let known: Vec<String> = before
        .iter()
        .flat_map(|all| all.iter())
        .flat_map(|webhook| conditions::expressions(&webhook["matchConditions"]))
        .collect();
    // Unchanged conditions were validated when they were stored.
    let unchanged = before.is_some_and(|before| {
        let same = |(new, old): (&Value, &Value)| new["matchConditions"] == old["matchConditions"];
        before.len() == webhooks.len() && webhooks.iter().zip(before).all(same)
    });
    let mut errors = Vec::new();
    for (index, webhook) in webhooks.iter().enumerate() {
        let at = format!("webhooks[{index}]");
        check_webhook(webhook, mutating, &at, &mut errors);
        if !unchanged {
            let declared = Declared { params: false, ..Declared::ALL };
            let (given, minor) = (&webhook["matchConditions"], profile.minor.saturating_sub(1));
            let at = format!("{at}.matchConditions");
            errors.extend(conditions::check(given, &known, minor, declared, &at));
        }
        check_reviews(list(webhook, "admissionReviewVersions"), &at, &mut errors);
        let name = text(webhook, "name");
        if !name.is_empty() && webhooks[..index].iter().any(|earlier| text(earlier, "name") == name) {
            errors.push(FieldError::new(Cause::Duplicate, format!("{at}.name"), json!(name), ""));
        }
    }
    errors
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn check_webhook(webhook: &Value, mutating: bool, at: &str, errors: &mut Vec<FieldError>) {
    check_name(text(webhook, "name"), &format!("{at}.name"), errors);
    for (index, rule) in list(webhook, "rules").iter().enumerate() {
        check_rule(rule, &format!("{at}.rules[{index}]"), errors);
    }
    let words: [(&str, &[&str]); 3] = [
        ("failurePolicy", &["Fail", "Ignore"]),
        ("matchPolicy", &["Equivalent", "Exact"]),
        ("reinvocationPolicy", &["IfNeeded", "Never"]),
    ];
    for (field, known) in words.into_iter().take(if mutating { 3 } else { 2 }) {
        check_known(text(webhook, field), known, &format!("{at}.{field}"), errors);
    }
    let (effects, known) = (text(webhook, "sideEffects"), ["None", "NoneOnDryRun"]);
    if effects.is_empty() {
        let why = format!("must specify one of {}", known.join(", "));
        errors.push(FieldError::required(format!("{at}.sideEffects"), why));
    }
    check_known(effects, &known, &format!("{at}.sideEffects"), errors);
    let seconds = webhook["timeoutSeconds"].as_i64().unwrap_or(10);
    if !(1..=30).contains(&seconds) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(format!("{at}.timeoutSeconds"), seconds, why));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        check_selector(&webhook[field], &format!("{at}.{field}"), errors);
    }
    errors.extend(client::check(&webhook["clientConfig"], &format!("{at}.clientConfig")));
}

/// Rejects an unknown word. The callers check for empty words.
fn check_known(word: &str, known: &[&str], at: &str, errors: &mut Vec<FieldError>) {
    if !word.is_empty() && !known.contains(&word) {
        errors.push(FieldError::not_supported(at, Shown::Json(json!(word)), known));
    }
}

/// Checks for a name of at least three segments (`IsFullyQualifiedName`).
fn check_name(name: &str, at: &str, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
        return;
    }
    let wrong = names::subdomain(name);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(at, name, wrong.join(",")));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(at, name, why));
    }
}

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
    check_known(text(rule, "scope"), &["*", "Cluster", "Namespaced"], &format!("{at}.scope"), errors);
}

fn check_resources(resources: &[Value], at: &str, errors: &mut Vec<FieldError>) {
    if resources.is_empty() {
        errors.push(FieldError::required(at, ""));
    }
    let names: Vec<&str> = resources.iter().map(|item| item.as_str().unwrap_or_default()).collect();
    for (index, name) in names.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let Some((resource, subresource)) = name.split_once('/') else {
            if name.is_empty() {
                errors.push(FieldError::required(at, ""));
            }
            continue;
        };
        for wildcard in [format!("{resource}/*"), format!("*/{subresource}")] {
            if names[..index].contains(&wildcard.as_str()) {
                let why = format!("if '{wildcard}' is present, must not specify {name}");
                errors.push(FieldError::invalid(at.as_str(), *name, why));
            }
        }
    }
    if names.len() > 1 && names.contains(&"*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(at, json!(names), why));
    }
    if names.contains(&"*") && names.iter().any(|name| *name != "*" && !name.contains('/')) {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(at, json!(names), why));
    }
}

pub(in crate::admission) fn check_selector(selector: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = format!("{at}.matchExpressions[{index}]");
        let values = list(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{at}.values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{at}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(format!("{at}.operator"), other, why));
            }
        }
        let key = text(expression, "key");
        let wrong = names::label_key(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(format!("{at}.key"), key, why)));
    }
}

fn check_reviews(versions: &[Value], at: &str, errors: &mut Vec<FieldError>) {
    let at = format!("{at}.admissionReviewVersions");
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEWS.join(", "));
        errors.push(FieldError::required(at, why));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let (name, at) = (version.as_str().unwrap_or_default(), format!("{at}[{index}]"));
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(at, name, "duplicate version"));
            continue;
        }
        let wrong = names::dns1035_label(name).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(at.as_str(), name, why)));
    }
    if !versions.iter().any(|version| REVIEWS.iter().any(|known| version == known)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(at, json!(versions), why));
    }
}
