//! Validation of names, labels, annotations, owners and finalizers (`ValidateObjectMeta`).

use serde_json::Value;

use super::{finalizers, is_terminating, owners, text};
use crate::field::{Cause, FieldError, Shown};
use crate::gotext;
use crate::names::{self, NameRule};
use crate::profile::Profile;

/// Maximum size of all annotations of an object, in bytes (`TotalAnnotationSizeLimitB`).
const ANNOTATIONS_MAX: u64 = 256 << 10;
/// The finalizer of deletions that orphan dependents (`FinalizerOrphanDependents`).
const ORPHAN: &str = "orphan";
/// The finalizer of deletions that wait for dependents (`FinalizerDeleteDependents`).
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizers that need no domain.
const STANDARD: [&str; 3] = [FOREGROUND, ORPHAN, "kubernetes"];

/// The checks of metadata in the strategy of a kind, besides those that all kinds share (`rest.BeforeCreate` and
/// `rest.BeforeUpdate`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    /// Whether the strategy validates the metadata of new objects. If not, the shared checks run after it, and only if it
    /// found no error.
    pub(crate) on_create: bool,
    /// Whether each finalizer needs a domain or a standard name (`validateKubeFinalizerName`).
    pub(crate) qualified_finalizers: bool,
    /// The checks of an update of the object.
    pub(crate) update: Counts,
    /// The checks of an update of the status.
    pub(crate) status: Counts,
}

/// How often an update validates metadata. A real server lists each error as often in the causes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Like those of a new object (`ValidateObjectMeta`).
    pub(crate) as_new: usize,
    /// Against those of the old object (`ValidateObjectMetaUpdate`).
    pub(crate) against_old: usize,
}

impl Checks {
    /// The checks of custom resources.
    pub(crate) const CUSTOM: Self = {
        let counts = Counts { as_new: 0, against_old: 1 };
        Self { on_create: true, qualified_finalizers: false, update: counts, status: counts }
    };
}

/// Validates the metadata of a new object (`ValidateObjectMeta`).
pub(crate) fn check_new(
    object: &Value,
    rule: NameRule,
    namespaced: bool,
    checks: Checks,
    profile: &Profile,
) -> Vec<FieldError> {
    let mut errors = check_names(object, rule);
    if text(object, "name").is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    }
    if namespaced && text(object, "namespace").is_empty() {
        errors.push(FieldError::required("metadata.namespace", ""));
    }
    errors.extend(check_rest(object, profile));
    if checks.qualified_finalizers {
        errors.extend(check_domains(object));
    }
    errors
}

/// Validates the metadata of an object within another one. It needs no name.
pub(crate) fn check_embedded(object: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = check_names(object, NameRule::PathSegment);
    let namespace = text(object, "namespace");
    if !namespace.is_empty() {
        let problems = NameRule::Label.check(namespace).into_iter();
        errors.extend(problems.map(|why| FieldError::invalid("metadata.namespace", namespace, why)));
    }
    errors.extend(check_rest(object, profile));
    errors.extend(check_managers(&object["metadata"]));
    errors
}

/// Validates the operations and types of `managedFields` (`ValidateManagedFields`).
fn check_managers(metadata: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let entries = metadata["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, entry) in entries.iter().enumerate() {
        let at = |field: &str| format!("metadata.managedFields[{index}].{field}");
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let (operation, kind) = (text("operation"), text("fieldsType"));
        if !matches!(operation, "Apply" | "Update") {
            errors.push(FieldError::invalid(at("operation"), operation, "must be `Apply` or `Update`"));
        }
        if !matches!(kind, "" | "FieldsV1") {
            errors.push(FieldError::invalid(at("fieldsType"), kind, "must be `FieldsV1`"));
        }
    }
    errors
}

/// Validates the name and the prefix of a generated name, if there are any.
fn check_names(object: &Value, rule: NameRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, prefix) = (text(object, "name"), text(object, "generateName"));
    if !prefix.is_empty() {
        let problems = rule.check_prefix(prefix).into_iter();
        errors.extend(problems.map(|why| FieldError::invalid("metadata.generateName", prefix, why)));
    }
    if !name.is_empty() {
        errors
            .extend(rule.check(name).into_iter().map(|why| FieldError::invalid("metadata.name", name, why)));
    }
    errors
}

/// Validates the metadata of a new object besides its names.
fn check_rest(object: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    errors.extend(check_generation(object));
    errors.extend(check_maps(object, profile));
    errors.extend(check_finalizers(&object["metadata"]));
    errors
}

/// Validates the metadata of an update, with each error as often as a real server finds it.
pub(crate) fn check_update(
    object: &Value,
    old: &Value,
    checks: Checks,
    counts: Counts,
    profile: &Profile,
) -> Vec<FieldError> {
    let Counts { as_new, against_old } = counts;
    let mut errors = Vec::new();
    repeat(&mut errors, check_changes(object, old), against_old + 1);
    // Unchanged metadata was validated before.
    if has_same_maps(object, old) {
        return errors;
    }
    repeat(&mut errors, check_maps(object, profile), as_new + against_old + 2);
    repeat(&mut errors, check_finalizers(&object["metadata"]), as_new + 1);
    if checks.qualified_finalizers {
        repeat(&mut errors, check_domains(object), as_new + against_old);
    }
    errors
}

fn repeat(errors: &mut Vec<FieldError>, found: Vec<FieldError>, count: usize) {
    if !found.is_empty() {
        errors.extend(std::iter::repeat_n(found, count).flatten());
    }
}

/// Whether the metadata that [`check_maps`] and the checks of finalizers validate is unchanged.
fn has_same_maps(object: &Value, old: &Value) -> bool {
    let (new, old) = (&object["metadata"], &old["metadata"]);
    ["labels", "annotations", "ownerReferences", "finalizers"]
        .iter()
        .all(|name| new.get(name) == old.get(name))
}

/// Rejects changes that no update may make (`ValidateObjectMetaAccessorUpdate`).
fn check_changes(object: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        // A null is the zero time, which is not the same as no time.
        let (new, old) = (object["metadata"].get(field), old["metadata"].get(field));
        if new != old {
            let at = format!("metadata.{field}");
            let new = new.unwrap_or(&Value::Null);
            errors.push(match field {
                "deletionTimestamp" => FieldError::invalid_time(at, new, "field is immutable"),
                _ => FieldError::invalid(at, new.clone(), "field is immutable"),
            });
        }
    }
    if is_terminating(old) {
        let before = finalizers(old);
        let mut added: Vec<&str> =
            finalizers(object).into_iter().filter(|name| !before.contains(name)).collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let quoted: Vec<String> = added.into_iter().map(gotext::quote).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                quoted.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", why));
        }
    }
    errors
}

fn check_generation(object: &Value) -> Option<FieldError> {
    let generation = object["metadata"].get("generation")?.as_i64().filter(|count| *count < 0)?;
    Some(FieldError::invalid("metadata.generation", generation, "must be greater than or equal to 0"))
}

/// Validates labels, annotations and owners.
fn check_maps(object: &Value, profile: &Profile) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let mut errors = Vec::new();
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let fail = |value: &str, why| FieldError::invalid("metadata.labels", value, why);
        errors.extend(names::labels::label_key(key).into_iter().map(|why| fail(key, why)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(names::labels::label_value(value).into_iter().map(|why| fail(value, why)));
    }
    errors.extend(check_annotations(&metadata["annotations"], profile));
    errors.extend(owners::check(metadata));
    errors
}

fn check_annotations(annotations: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        let problems = names::labels::label_key(&key.to_lowercase());
        errors.extend(
            problems.into_iter().map(|why| FieldError::invalid("metadata.annotations", key.as_str(), why)),
        );
        size += (key.len() + value.as_str().map_or(0, str::len)) as u64;
    }
    if size > ANNOTATIONS_MAX {
        let why = profile.too_many_bytes_text(ANNOTATIONS_MAX);
        errors.push(FieldError::new(Cause::TooLong, "metadata.annotations", Value::Null, why));
    }
    errors
}

fn check_finalizers(metadata: &Value) -> Vec<FieldError> {
    let list = metadata["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    let wrong = |name: &&str| {
        let name = (*name).to_owned();
        let reasons = names::labels::label_key(&name).into_iter();
        reasons.map(move |why| FieldError::invalid("metadata.finalizers", name.as_str(), why))
    };
    let mut errors: Vec<FieldError> = names.iter().flat_map(wrong).collect();
    if names.contains(&ORPHAN) && names.contains(&FOREGROUND) {
        let given = names.into_iter().map(str::to_owned).collect();
        errors.push(FieldError {
            cause: Cause::Invalid,
            field: "metadata.finalizers".to_owned(),
            value: Shown::Strings("string", given),
            detail: format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set"),
        });
    }
    errors
}

/// An error for each finalizer without a domain that is no standard one (`validateKubeFinalizerName`).
fn check_domains(object: &Value) -> Vec<FieldError> {
    const WHY: &str = "name is neither a standard finalizer name nor is it fully qualified";
    let all = finalizers(object).into_iter().enumerate();
    all.filter(|(_, name)| lacks_domain(name))
        .map(|(index, name)| FieldError::invalid(format!("metadata.finalizers[{index}]"), name, WHY))
        .collect()
}

fn lacks_domain(finalizer: &str) -> bool {
    !finalizer.contains('/') && !STANDARD.contains(&finalizer)
}

/// Warnings about the new finalizers of a custom resource (`generateWarningsFromObj`).
pub(crate) fn finalizer_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(finalizers).unwrap_or_default();
    let mut added = finalizers(object);
    added.retain(|name| !before.contains(name) && lacks_domain(name));
    added.sort_unstable();
    added.dedup();
    let text = |name: &str| {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
             other finalizer writers",
            gotext::quote(name)
        )
    };
    added.into_iter().map(text).collect()
}
