//! Roles and bindings as objects: what the server fills in, and what must hold of them (`pkg/apis/rbac/validation`).

use serde_json::{Value, json};

use crate::apiserver::field::{Cause, FieldError, Shown};
use crate::apiserver::kinds::Kind;
use crate::apiserver::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether a kind is one of these, and which.
fn plural(kind: &Kind) -> Option<&str> {
    (kind.resource.group == GROUP).then_some(&*kind.resource.plural)
}

/// Fills in API groups, and `rules` where there are none.
pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    match plural(kind) {
        Some("roles" | "clusterroles") => {
            if let Some(map) = object.as_object_mut() {
                map.entry("rules").or_insert(Value::Null);
            }
        }
        Some("rolebindings" | "clusterrolebindings") => {
            if let Value::Object(reference) = &mut object["roleRef"] {
                reference.entry("apiGroup").or_insert(json!(GROUP));
            }
            for subject in object["subjects"].as_array_mut().into_iter().flatten() {
                let group = matches!(subject["kind"].as_str(), Some("User" | "Group"));
                if let (true, Value::Object(subject)) = (group, subject) {
                    subject.entry("apiGroup").or_insert(json!(GROUP));
                }
            }
        }
        _ => {}
    }
}

/// Checks a role or a binding that is created, or replaces `old`.
pub(crate) fn check(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match plural(kind) {
        Some("roles" | "clusterroles") => {
            let rules = object["rules"].as_array().into_iter().flatten().enumerate();
            let namespaced = kind.resource.namespaced;
            rules.flat_map(|(at, rule)| check_rule(rule, &format!("rules[{at}]"), namespaced)).collect()
        }
        Some("rolebindings" | "clusterrolebindings") => {
            let mut errors = check_reference(&object["roleRef"], kind.resource.namespaced);
            for (at, subject) in object["subjects"].as_array().into_iter().flatten().enumerate() {
                errors.extend(check_subject(subject, &format!("subjects[{at}]"), kind.resource.namespaced));
            }
            if old.is_some_and(|old| old["roleRef"] != object["roleRef"]) {
                let reference = &object["roleRef"];
                let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
                let fields =
                    vec![("APIGroup", text("apiGroup")), ("Kind", text("kind")), ("Name", text("name"))];
                errors.push(FieldError {
                    cause: Cause::Invalid,
                    field: "roleRef".to_owned(),
                    value: Shown::Struct("rbac.RoleRef", fields),
                    detail: "cannot change roleRef".to_owned(),
                });
            }
            errors
        }
        _ => Vec::new(),
    }
}

fn check_rule(rule: &Value, at: &str, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let count = |field: &str| rule[field].as_array().map_or(0, Vec::len);
    if count("verbs") == 0 {
        let why = "verbs must contain at least one value";
        errors.push(FieldError::required(format!("{at}.verbs"), why));
    }
    if count("nonResourceURLs") > 0 {
        let urls = rule["nonResourceURLs"].as_array().into_iter().flatten();
        let urls: Vec<String> = urls.filter_map(Value::as_str).map(str::to_owned).collect();
        let invalid = |why: &str| FieldError {
            cause: Cause::Invalid,
            field: format!("{at}.nonResourceURLs"),
            value: Shown::Strings(urls.clone()),
            detail: why.to_owned(),
        };
        if namespaced {
            errors.push(invalid("namespaced rules cannot apply to non-resource URLs"));
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(|field| count(field) > 0) {
            errors.push(invalid("rules cannot apply to both regular resources and non-resource URLs"));
        }
        return errors;
    }
    for (field, what) in [("apiGroups", "api group"), ("resources", "resource")] {
        if count(field) == 0 {
            let why = format!("resource rules must supply at least one {what}");
            errors.push(FieldError::required(format!("{at}.{field}"), why));
        }
    }
    errors
}

fn unsupported(field: String, value: &str, supported: &[&str]) -> FieldError {
    FieldError::not_supported(field, Shown::Json(json!(value)), supported)
}

fn check_reference(reference: &Value, namespaced: bool) -> Vec<FieldError> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    if text("apiGroup") != GROUP {
        errors.push(unsupported("roleRef.apiGroup".to_owned(), text("apiGroup"), &[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text("kind")) {
        errors.push(unsupported("roleRef.kind".to_owned(), text("kind"), kinds));
    }
    let name = text("name");
    if name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    } else {
        let wrong = names::path_segment(name).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid("roleRef.name", name, why)));
    }
    errors
}

fn check_subject(subject: &Value, at: &str, namespaced: bool) -> Vec<FieldError> {
    let text = |field: &str| subject[field].as_str().unwrap_or_default();
    let (name, group) = (text("name"), text("apiGroup"));
    let mut errors = Vec::new();
    if name.is_empty() {
        errors.push(FieldError::required(format!("{at}.name"), ""));
    }
    match text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = names::subdomain(name).into_iter();
                errors.extend(wrong.map(|why| FieldError::invalid(format!("{at}.name"), name, why)));
            }
            if !group.is_empty() {
                errors.push(unsupported(format!("{at}.apiGroup"), group, &[""]));
            }
            if !namespaced && text("namespace").is_empty() {
                errors.push(FieldError::required(format!("{at}.namespace"), ""));
            }
        }
        kind @ ("User" | "Group") => {
            if name.is_empty() {
                let why = format!("{} name cannot be empty", kind.to_lowercase());
                errors.push(FieldError::invalid(format!("{at}.name"), name, why));
            }
            if group != GROUP {
                errors.push(unsupported(format!("{at}.apiGroup"), group, &[GROUP]));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(unsupported(format!("{at}.kind"), other, &kinds));
        }
    }
    errors
}
