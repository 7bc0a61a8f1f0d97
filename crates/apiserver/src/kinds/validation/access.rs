//! Validation of roles and role bindings.

use serde_json::{Value, json};

use super::{Errors, Path, absent, items, text};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Validates a role (`ValidateRole`).
pub(super) fn role(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    rules(object, true, errors);
}

/// Validates a cluster role and its aggregation (`ValidateClusterRole`).
pub(super) fn cluster_role(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    rules(object, false, errors);
    let aggregation = Path::Root.child("aggregationRule");
    if object["aggregationRule"].is_object() {
        let list = aggregation.child("clusterRoleSelectors");
        let selectors = items(&object["aggregationRule"]["clusterRoleSelectors"]);
        if selectors.is_empty() {
            errors.required(list, "at least one clusterRoleSelector required if aggregationRule is non-nil");
        }
        for (index, one) in selectors.iter().enumerate() {
            let (at, before) = (list.index(index), errors.found.len());
            super::selector::check(one, at, errors);
            if errors.found.len() > before {
                // The selector that cannot be built is shown as null.
                errors.invalid(at, Value::Null, "invalid label selector.");
            }
        }
    }
}

fn rules(object: &Value, namespaced: bool, errors: &mut Errors<'_>) {
    let list = Path::Root.child("rules");
    for (index, rule) in items(&object["rules"]).iter().enumerate() {
        let at = list.index(index);
        if items(&rule["verbs"]).is_empty() {
            errors.required(at.child("verbs"), "verbs must contain at least one value");
        }
        if !items(&rule["nonResourceURLs"]).is_empty() {
            let urls = rule["nonResourceURLs"].clone();
            if namespaced {
                let why = "namespaced rules cannot apply to non-resource URLs";
                errors.invalid(at.child("nonResourceURLs"), urls.clone(), why);
            }
            let others = ["apiGroups", "resources", "resourceNames"];
            if others.iter().any(|field| !items(&rule[*field]).is_empty()) {
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                errors.invalid(at.child("nonResourceURLs"), urls, why);
            }
            continue;
        }
        if items(&rule["apiGroups"]).is_empty() {
            errors.required(at.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if items(&rule["resources"]).is_empty() {
            errors.required(at.child("resources"), "resource rules must supply at least one resource");
        }
    }
}

/// Validates a RoleBinding or ClusterRoleBinding.
pub(super) fn binding(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("roleRef");
    let role = &object["roleRef"];
    let cluster = object["kind"] == "ClusterRoleBinding";
    if text(&role["apiGroup"]) != RBAC {
        errors.unsupported(at.child("apiGroup"), text(&role["apiGroup"]), &[RBAC]);
    }
    match text(&role["kind"]) {
        "ClusterRole" => {}
        "Role" if !cluster => {}
        other if cluster => errors.unsupported(at.child("kind"), other, &["ClusterRole"]),
        other => errors.unsupported(at.child("kind"), other, &["Role", "ClusterRole"]),
    }
    match text(&role["name"]) {
        "" => errors.required(at.child("name"), ""),
        name => {
            let reasons = crate::names::NameRule::PathSegment.check(name);
            errors.each(at.child("name"), name, reasons);
        }
    }
    let list = Path::Root.child("subjects");
    for (index, one) in items(&object["subjects"]).iter().enumerate() {
        subject(one, cluster, list.index(index), errors);
    }
    if old.is_some_and(|old| old["roleRef"] != *role) {
        let (group, kind, name) = (text(&role["apiGroup"]), text(&role["kind"]), text(&role["name"]));
        // The server prints its own struct, which does not have the JSON names.
        let shown =
            format!("{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}", json!(group), json!(kind), json!(name));
        let syntax = format!("rbac.RoleRef{{APIGroup:{group:?}, Kind:{kind:?}, Name:{name:?}}}");
        errors.invalid_shown(at, shown, syntax, "cannot change roleRef");
    }
}

fn subject(subject: &Value, cluster: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&subject["name"]);
    if name.is_empty() {
        errors.required(at.child("name"), "");
    }
    let group = text(&subject["apiGroup"]);
    match text(&subject["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.each(at.child("name"), name, crate::names::subdomain(name));
            }
            if !group.is_empty() {
                errors.unsupported(at.child("apiGroup"), group, &[""]);
            }
            if cluster && absent(&subject["namespace"]) {
                errors.required(at.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != RBAC {
                errors.unsupported(at.child("apiGroup"), group, &[RBAC]);
            }
        }
        other => errors.unsupported(at.child("kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}
