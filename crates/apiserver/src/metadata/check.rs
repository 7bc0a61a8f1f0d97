//! Validation of names, labels, annotations, owners and finalizers (`ValidateObjectMeta`).

use serde_json::Value;

use super::{finalizers, text};
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

/// Validates name, labels, annotations, owners and finalizers of a new object.
pub(crate) fn check(object: &Value, rule: NameRule, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(object, "name");
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else {
        for why in rule.check(name) {
            errors.push(FieldError::invalid("metadata.name", name, why));
        }
    }
    errors.extend(check_maps(object, profile));
    errors
}

/// Whether the metadata that [`check_maps`] validates is unchanged.
pub(crate) fn has_same_maps(object: &Value, old: &Value) -> bool {
    let (new, old) = (&object["metadata"], &old["metadata"]);
    ["labels", "annotations", "ownerReferences", "finalizers"]
        .iter()
        .all(|name| new.get(name) == old.get(name))
}

/// Validates the metadata that can also be wrong in updates.
pub(crate) fn check_maps(object: &Value, profile: &Profile) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let mut errors = Vec::new();
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let fail = |value: &str, why| FieldError::invalid("metadata.labels", value, why);
        errors.extend(names::labels::label_key(key).into_iter().map(|why| fail(key, why)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(names::labels::label_value(value).into_iter().map(|why| fail(value, why)));
    }
    errors.extend(check_annotations(&metadata["annotations"], profile));
    errors.extend(check_owners(metadata));
    errors.extend(check_finalizers(metadata));
    errors
}

fn check_annotations(annotations: &Value, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        let problems = names::labels::qualified(&key.to_lowercase(), "a valid annotation key");
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

/// Owners need all their fields, and at most one of them may be the controller.
fn check_owners(metadata: &Value) -> Vec<FieldError> {
    const AT: &str = "metadata.ownerReferences";
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let owners = metadata["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    for owner in owners {
        for (field, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().is_none_or(str::is_empty) {
                errors.push(FieldError::invalid(format!("{AT}.{field}"), "", why));
            }
        }
        let name = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
        if (name("apiVersion"), name("kind")) == ("v1".to_owned(), "Event".to_owned()) {
            let why = "/v1, Kind=Event is disallowed from being an owner".to_owned();
            errors.push(invalid_owner(owner_json(owner), owner_syntax(owner), why));
        }
        if owner["controller"] == true {
            let this = format!("{}/{}", name("kind"), name("name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for \
                         {first} and {this}"
                    );
                    let list = |show: fn(&Value) -> String, between| {
                        owners.iter().map(show).collect::<Vec<_>>().join(between)
                    };
                    let json = format!("[{}]", list(owner_json, ","));
                    let go = format!("[]v1.OwnerReference{{{}}}", list(owner_syntax, ", "));
                    errors.push(invalid_owner(json, go, why));
                }
            }
        }
    }
    errors
}

fn invalid_owner(json: String, go: String, detail: String) -> FieldError {
    let field = "metadata.ownerReferences".to_owned();
    FieldError { cause: Cause::Invalid, field, value: Shown::Raw { json, go }, detail }
}

/// An owner as Go encodes it.
fn owner_json(owner: &Value) -> String {
    let mut fields: Vec<String> = ["apiVersion", "kind", "name", "uid"]
        .into_iter()
        .map(|field| format!("\"{field}\":{}", Value::from(owner[field].as_str().unwrap_or_default())))
        .collect();
    let flags = ["controller", "blockOwnerDeletion"].into_iter().filter(|field| owner[*field].is_boolean());
    fields.extend(flags.map(|field| format!("\"{field}\":{}", owner[field])));
    format!("{{{}}}", fields.join(","))
}

/// An owner in Go syntax, in which flags are pointers. Their addresses are meaningless and differ between
/// servers.
fn owner_syntax(owner: &Value) -> String {
    let text = |field: &str| gotext::quote(owner[field].as_str().unwrap_or_default());
    let flag = |field: &str| if owner[field].is_boolean() { "(*bool)(0xc000000000)" } else { "(*bool)(nil)" };
    format!(
        "v1.OwnerReference{{APIVersion:{}, Kind:{}, Name:{}, UID:{}, Controller:{}, BlockOwnerDeletion:{}}}",
        text("apiVersion"),
        text("kind"),
        text("name"),
        text("uid"),
        flag("controller"),
        flag("blockOwnerDeletion")
    )
}

fn check_finalizers(metadata: &Value) -> Vec<FieldError> {
    let list = metadata["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    let wrong = |name: &&str| {
        let name = (*name).to_owned();
        let reasons = names::labels::qualified(&name, "a valid finalizer name").into_iter();
        reasons.map(move |why| FieldError::invalid("metadata.finalizers", name.as_str(), why))
    };
    let mut errors: Vec<FieldError> = names.iter().flat_map(wrong).collect();
    if names.contains(&ORPHAN) && names.contains(&FOREGROUND) {
        let given = names.into_iter().map(str::to_owned).collect();
        errors.push(FieldError {
            cause: Cause::Invalid,
            field: "metadata.finalizers".to_owned(),
            value: Shown::Strings(given),
            detail: format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set"),
        });
    }
    errors
}

/// A warning for each finalizer without a domain.
pub(crate) fn finalizer_warnings(object: &Value) -> Vec<String> {
    let known = [FOREGROUND, ORPHAN, "kubernetes"];
    finalizers(object)
        .into_iter()
        .filter(|name| !name.contains('/') && !known.contains(name))
        .map(|name| {
            format!(
                "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name to avoid accidental \
                 conflicts with other finalizer writers"
            )
        })
        .collect()
}
