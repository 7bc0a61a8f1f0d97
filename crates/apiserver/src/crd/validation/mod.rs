//! Validation of CustomResourceDefinitions (`ValidateCustomResourceDefinition` and its counterpart for
//! updates).

mod approval;
mod conversion;
mod names;
mod paths;
mod versions;

use serde_json::{Value, json};
use windtunnel_core::condition;

use crate::field::{Cause, FieldError};
use crate::profile::{Profile, since};
pub(crate) use approval::Approval;

/// Returns all errors of a definition; `old` is the stored definition, if this is an update.
pub(crate) fn check(crd: &Value, old: Option<&Value>, profile: &Profile) -> Vec<FieldError> {
    let mut errors = names::check(crd, old.is_none());
    errors.extend(versions::check(crd, old, profile));
    errors.extend(conversion::check(crd, old));
    if let Some(old) = old {
        errors.extend(check_immutable(crd, old));
    }
    errors.extend(check_status(crd));
    errors.extend(check_stored(crd, profile));
    errors.extend(approval::check(crd, old));
    let preserved = |crd: &Value| crd["spec"]["preserveUnknownFields"] == true;
    if preserved(crd) && !old.is_some_and(preserved) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                   spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    errors
}

/// Returns all errors of a status write.
pub(crate) fn check_status(crd: &Value) -> Vec<FieldError> {
    names::check_forms(&crd["status"]["acceptedNames"], "status.acceptedNames")
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Versions in which objects may be stored must stay.
fn check_stored(crd: &Value, profile: &Profile) -> Vec<FieldError> {
    let stored = list(crd, "/status/storedVersions");
    let versions = list(crd, "/spec/versions");
    let mut errors = Vec::new();
    if stored.is_empty() {
        let why = "must have at least one stored version";
        errors.push(FieldError::invalid_list("status.storedVersions", &Value::Null, "string", why));
        return errors;
    }
    for version in versions.iter().filter(|version| version["storage"] == true) {
        let name = text(version, "/name");
        if !stored.iter().any(|stored| stored == name) {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid_list("status.storedVersions", &json!(stored), "string", why));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if versions.iter().any(|version| version["name"] == *name) {
            continue;
        }
        let name = name.as_str().unwrap_or_default();
        let explained = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        let is_explained = profile.minor >= since::STORED_VERSIONS_EXPLAINED;
        let why = if is_explained { explained } else { "must appear in spec.versions".to_owned() };
        errors.push(FieldError::invalid(format!("status.storedVersions[{index}]"), name, why));
    }
    errors
}

fn check_immutable(crd: &Value, old: &Value) -> Vec<FieldError> {
    let established = [("spec.scope", "/spec/scope"), ("spec.names.kind", "/spec/names/kind")];
    let always = [("spec.group", "/spec/group"), ("spec.names.plural", "/spec/names/plural")];
    let is_established = condition::is_true(old, "Established");
    let checked = established.into_iter().filter(|_| is_established).chain(always);
    let changed = checked.filter(|(_, pointer)| text(crd, pointer) != text(old, pointer));
    changed
        .map(|(field, pointer)| {
            FieldError::new(Cause::Invalid, field, json!(text(crd, pointer)), "field is immutable")
        })
        .collect()
}

#[cfg(test)]
mod tests;
