//! Whether a CustomResourceDefinition may be written: names, versions, what may change.

use serde_json::{Value, json};

use super::structure;
use crate::apiserver::field::{Cause, FieldError, Shown};
use crate::apiserver::metadata;
use crate::apiserver::profile::Profile;
use crate::model::condition;

/// All errors of a definition; `old` is the stored one if this is an update.
pub(crate) fn check(crd: &Value, old: Option<&Value>, profile: &Profile) -> Vec<FieldError> {
    let mut errors = check_names(crd, old.is_none());
    errors.extend(check_versions(crd, profile));
    errors.extend(check_stored(crd));
    if let Some(old) = old {
        errors.extend(check_immutable(crd, old));
    }
    errors
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Names and scope; the object's own name is checked only where it is `new`.
fn check_names(crd: &Value, new: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = metadata::text(crd, "name");
    let (plural, group) = (text(crd, "/spec/names/plural"), text(crd, "/spec/group"));
    if new && name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    for (field, value) in [
        ("spec.group", group),
        ("spec.names.plural", plural),
        ("spec.names.kind", text(crd, "/spec/names/kind")),
    ] {
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
    }
    match text(crd, "/spec/scope") {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => {
            let supported = ["Cluster", "Namespaced"];
            errors.push(FieldError::not_supported("spec.scope", Shown::Json(json!(other)), &supported));
        }
    }
    if crd["spec"]["preserveUnknownFields"] == true {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                   spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    errors
}

fn check_versions(crd: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let versions = versions(crd);
    let names: Vec<&str> = versions.iter().map(|version| text(version, "/name")).collect();
    let shown = || crd["spec"]["versions"].clone();
    if names.iter().enumerate().any(|(index, name)| names[..index].contains(name)) {
        errors.push(FieldError::invalid("spec.versions", shown(), "must contain unique version names"));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", shown(), why));
    }
    let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    // Versions that share one schema are checked once, under the name that it has within the server.
    let shared = versions.windows(2).all(|pair| schema(&pair[0]) == schema(&pair[1]));
    for (index, version) in versions.iter().enumerate() {
        let at = if shared {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{index}].schema.openAPIV3Schema")
        };
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(at, "schemas are required"));
        } else if !shared || index == 0 {
            errors.extend(structure::check(&version["schema"]["openAPIV3Schema"], &at, profile));
        }
    }
    errors
}

/// Versions that objects may be stored in must stay.
fn check_stored(crd: &Value) -> Vec<FieldError> {
    let stored = crd["status"]["storedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    if stored.is_empty() {
        let why = "must have at least one stored version";
        errors.push(FieldError::invalid("status.storedVersions", Value::Null, why));
        return errors;
    }
    for (index, name) in stored.iter().enumerate() {
        if versions(crd).iter().any(|version| version["name"] == *name) {
            continue;
        }
        let name = name.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.push(FieldError::invalid(format!("status.storedVersions[{index}]"), name, why));
    }
    // The last one marked counts where several are.
    let storage = versions(crd).iter().rev().find(|version| version["storage"] == true);
    if let Some(name) = storage.map(|version| text(version, "/name"))
        && !stored.iter().any(|stored| stored == name)
    {
        let why = format!("must have the storage version {name}");
        errors.push(FieldError::invalid("status.storedVersions", json!(stored), why));
    }
    errors
}

fn check_immutable(crd: &Value, old: &Value) -> Vec<FieldError> {
    let always = [("spec.group", "/spec/group"), ("spec.names.plural", "/spec/names/plural")];
    let established = [("spec.scope", "/spec/scope"), ("spec.names.kind", "/spec/names/kind")];
    let is_established = condition::is_true(old, "Established");
    let checked = always.into_iter().chain(established.into_iter().filter(|_| is_established));
    let changed = checked.filter(|(_, pointer)| text(crd, pointer) != text(old, pointer));
    changed
        .map(|(field, pointer)| {
            FieldError::new(Cause::Invalid, field, json!(text(crd, pointer)), "field is immutable")
        })
        .collect()
}
