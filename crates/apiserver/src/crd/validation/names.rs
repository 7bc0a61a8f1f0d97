//! Validation of group, scope and names.

use serde_json::{Value, json};

use super::{list, text};
use crate::field::{FieldError, Shown};
use crate::{metadata, names};

/// Validates the names of a definition, and `metadata.name` if it is `new`.
pub(super) fn check(crd: &Value, new: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = metadata::text(crd, "name");
    let (plural, group) = (text(crd, "/spec/names/plural"), text(crd, "/spec/group"));
    if new && !name.is_empty() && name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    let wrong = names::subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
    match text(crd, "/spec/scope") {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => {
            let supported = ["Cluster", "Namespaced"];
            errors.push(FieldError::not_supported("spec.scope", Shown::Json(json!(other)), &supported));
        }
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(crd, &format!("/spec/names/{field}")).is_empty() {
            errors.push(FieldError::required(format!("spec.names.{field}"), ""));
        }
    }
    errors.extend(check_forms(&crd["spec"]["names"], "spec.names"));
    errors
}

/// Validates the syntax of names.
pub(super) fn check_forms(given: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["plural", "singular"] {
        let name = given[field].as_str().unwrap_or_default();
        label(name, &format!("{at}.{field}"), &mut errors);
    }
    for field in ["kind", "listKind"] {
        let name = given[field].as_str().unwrap_or_default();
        let wrong = names::dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !wrong.is_empty() {
            let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(FieldError::invalid(format!("{at}.{field}"), name, why));
        }
    }
    let (kind, list_kind) = (given["kind"].as_str(), given["listKind"].as_str());
    if let Some(name) = kind.filter(|kind| !kind.is_empty() && list_kind == Some(kind)) {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(format!("{at}.listKind"), name, why));
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in list(given, &format!("/{field}")).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let wrong = names::dns1035_label(name);
            if !wrong.is_empty() {
                let at = format!("{at}.{field}[{index}]");
                errors.push(FieldError::invalid(at, name, wrong.join(",")));
            }
        }
    }
    errors
}

fn label(name: &str, at: &str, errors: &mut Vec<FieldError>) {
    let wrong = names::dns1035_label(name);
    if !name.is_empty() && !wrong.is_empty() {
        errors.push(FieldError::invalid(at, name, wrong.join(",")));
    }
}
