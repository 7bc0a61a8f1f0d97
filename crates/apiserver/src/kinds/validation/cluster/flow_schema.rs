//! Validation of flow schemas (`ValidateFlowSchema`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::field::{FieldError, Shown};
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names;

const HIGHEST_PRECEDENCE: i64 = 10_000;
const METHODS: [&str; 2] = ["ByNamespace", "ByUser"];
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
/// The kinds of subjects, the field of each, and the first word of its messages.
const SUBJECTS: [(&str, &str); 3] =
    [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];

pub(in crate::kinds::validation) fn schema(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    precedence(spec, text(&object["metadata"]["name"]), at.child("matchingPrecedence"), errors);
    let method = &spec["distinguisherMethod"];
    if method.is_object() && !METHODS.contains(&text(&method["type"])) {
        let place = at.child("distinguisherMethod");
        let shown = Shown::Json(json!({ "Type": text(&method["type"]) }));
        let place = place.child("type").text();
        errors.found.push(FieldError::not_supported(place, shown, &METHODS));
    }
    let level = at.child("priorityLevelConfiguration");
    match text(&spec["priorityLevelConfiguration"]["name"]) {
        "" => errors.required(level.child("name"), "must reference a priority level"),
        name => errors.each(level.child("name"), name, names::subdomain(name)),
    }
    let list = at.child("rules");
    for (index, rule) in items(&spec["rules"]).iter().enumerate() {
        check_rule(rule, list.index(index), errors);
    }
    conditions(object, errors);
}

/// Validates a status write (`ValidateFlowSchemaStatus`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    conditions(object, errors);
}

/// Requires conditions of different types.
pub(super) fn conditions(object: &Value, errors: &mut Errors<'_>) {
    let status = Path::Root.child("status");
    let list = status.child("conditions");
    let mut seen = BTreeSet::new();
    for (index, condition) in items(&object["status"]["conditions"]).iter().enumerate() {
        let at = list.index(index);
        let (at, kind) = (at.child("type"), text(&condition["type"]));
        if !seen.insert(kind) {
            errors.duplicate(at, kind);
        }
        if kind.is_empty() {
            errors.required(at, "");
        }
    }
}

fn precedence(spec: &Value, name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let given = spec["matchingPrecedence"].as_i64().unwrap_or(0);
    if given <= 0 {
        errors.invalid(at, given, "must be a positive value");
    } else if given > HIGHEST_PRECEDENCE {
        errors.invalid(at, given, format!("must not be greater than {HIGHEST_PRECEDENCE}"));
    } else if given == 1 && name != "exempt" {
        errors.invalid(at, given, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
}

fn check_rule(rule: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = at.child("subjects");
    if items(&rule["subjects"]).is_empty() {
        errors.required(list, "subjects must contain at least one value");
    }
    for (index, one) in items(&rule["subjects"]).iter().enumerate() {
        subject(one, list.index(index), errors);
    }
    if ["resourceRules", "nonResourceRules"].iter().all(|field| items(&rule[*field]).is_empty()) {
        errors.required(at, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    let list = at.child("resourceRules");
    for (index, one) in items(&rule["resourceRules"]).iter().enumerate() {
        resource_rule(one, list.index(index), errors);
    }
    let list = at.child("nonResourceRules");
    for (index, one) in items(&rule["nonResourceRules"]).iter().enumerate() {
        let at = list.index(index);
        verbs(one, at, errors);
        urls(items(&one["nonResourceURLs"]), at.child("nonResourceURLs"), errors);
    }
}

/// Requires the field of the kind of the subject, and forbids the others (`ValidateFlowSchemaSubject`).
fn subject(subject: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let kind = text(&subject["kind"]);
    if !SUBJECTS.iter().any(|(known, _)| *known == kind) {
        errors.unsupported(at.child("kind"), kind, &["Group", "ServiceAccount", "User"]);
        return;
    }
    for (known, field) in SUBJECTS {
        let at = at.child(field);
        match (known == kind, subject[field].is_object()) {
            (true, true) => named(&subject[field], field, at, errors),
            (true, false) => {
                errors.required(at, &format!("{field} is required when subject kind is '{known}'"));
            }
            (false, true) => {
                errors.forbidden(at, format!("{field} is forbidden when subject kind is not '{known}'"));
            }
            (false, false) => {}
        }
    }
}

fn named(value: &Value, field: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("name");
    let is_account = field == "serviceAccount";
    match text(&value["name"]) {
        "" => errors.required(place, ""),
        name if is_account && name != "*" => errors.each(place, name, names::subdomain(name)),
        _ => {}
    }
    match text(&value["namespace"]) {
        "" if is_account => {
            errors.required(at.child("namespace"), "must specify namespace for service account");
        }
        namespace if is_account => {
            errors.each(at.child("namespace"), namespace, names::label(namespace));
        }
        _ => {}
    }
}

fn verbs(rule: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (at, given) = (at.child("verbs"), items(&rule["verbs"]));
    if is_wildcard(given, "verbs", "verbs must contain at least one value", at, errors) {
        return;
    }
    if !given.is_empty() && given.iter().any(|verb| !VERBS.contains(&text(verb))) {
        let shown = Shown::Json(json!(given));
        errors.found.push(FieldError::not_supported(at.text(), shown, &VERBS));
    }
}

/// Requires values; `*` must be the only one. Returns whether it is there.
fn is_wildcard(given: &[Value], what: &str, required: &str, at: Path<'_>, errors: &mut Errors<'_>) -> bool {
    if given.is_empty() && !required.is_empty() {
        errors.required(at, required);
    }
    let wildcard = given.iter().any(|value| value == "*");
    if wildcard && given.len() > 1 {
        errors.invalid(at, json!(given), format!("if '*' is present, must not specify other {what}"));
    }
    wildcard
}

fn resource_rule(rule: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    verbs(rule, at, errors);
    for (field, what, one) in
        [("apiGroups", "api groups", "api group"), ("resources", "resources", "resource")]
    {
        let required = format!("resource rules must supply at least one {one}");
        is_wildcard(items(&rule[field]), what, &required, at.child(field), errors);
    }
    let (list, given) = (at.child("namespaces"), items(&rule["namespaces"]));
    let required = if rule["clusterScope"] == true {
        ""
    } else {
        "resource rules that are not cluster scoped must supply at least one namespace"
    };
    if is_wildcard(given, "namespaces", required, list, errors) {
        return;
    }
    for (index, namespace) in given.iter().map(text).enumerate() {
        for why in names::label(namespace) {
            let why = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
            errors.invalid(list.index(index), namespace, why);
        }
    }
}

/// Validates paths, which may end with a wildcard (`ValidateNonResourceURLPath`).
fn urls(given: &[Value], list: Path<'_>, errors: &mut Errors<'_>) {
    let required = "nonResourceURLs must contain at least one value";
    if is_wildcard(given, "non-resource URLs", required, list, errors) {
        return;
    }
    for (index, path) in given.iter().map(text).enumerate() {
        let wildcards = path.matches('*').count();
        let why = match path {
            "" => "must not be empty",
            _ if !path.starts_with('/') => "must start with slash",
            _ if path.contains(' ') => "must not contain white-space",
            _ if path.contains("//") => "must not contain double slash",
            _ if wildcards > 1 || wildcards == 1 && !path.ends_with("/*") => {
                "wildcard can only do suffix matching"
            }
            _ => continue,
        };
        errors.invalid(list.index(index), path, why);
    }
}
