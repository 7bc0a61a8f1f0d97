//! Validation of `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration`.

use serde_json::{Value, json};

use crate::admission::matching::check::{check_given, check_known, check_rule, check_selector, list, text};
use crate::admission::policy::conditions;
use crate::admission::policy::expression::Declared;
use crate::field::{Cause, FieldError};
use crate::kinds::Kind;
use crate::names;
use crate::outbound::client_config;
use crate::profile::Profile;
use crate::repeats::repeated;

/// The versions of `AdmissionReview` that the server supports.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

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
    let is_repeated = repeated(webhooks.iter().map(|webhook| text(webhook, "name")));
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
        if !name.is_empty() && is_repeated[index] {
            errors.push(FieldError::new(Cause::Duplicate, format!("{at}.name"), json!(name), ""));
        }
    }
    errors
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
        check_given(&webhook[field], known, &format!("{at}.{field}"), errors);
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
    errors.extend(client_config::check(&webhook["clientConfig"], &format!("{at}.clientConfig")));
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

fn check_reviews(versions: &[Value], at: &str, errors: &mut Vec<FieldError>) {
    let at = format!("{at}.admissionReviewVersions");
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEWS.join(", "));
        errors.push(FieldError::required(at, why));
        return;
    }
    let is_repeated = repeated(versions.iter().map(Value::to_string));
    for (index, version) in versions.iter().enumerate() {
        let (name, at) = (version.as_str().unwrap_or_default(), format!("{at}[{index}]"));
        if is_repeated[index] {
            errors.push(FieldError::invalid(at, name, "duplicate version"));
            continue;
        }
        let wrong = names::dns1035_label(name).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(at.as_str(), name, why)));
    }
    if !versions.iter().any(|version| REVIEWS.iter().any(|known| version == known)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid_list(at, &json!(versions), "string", why));
    }
}
