//! Validation of the environment of containers.

use serde_json::Value;

use super::references::{container_resource, object_field};
use crate::kinds::validation::configuration::key_problems;
use crate::kinds::validation::pods::names::{
    environment_name, no_backsteps, plain_label, relaxed_environment_name, subdomain,
};
use crate::kinds::validation::{Errors, Path, items, text};
use crate::profile::since;

/// The fields of a pod that an environment variable can have as its value.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const SEVERAL: &str = "may not have more than one field specified at a time";

type Check = fn(&Value, Path<'_>, &mut Errors<'_>);

/// Validates the variables of a container (`ValidateEnv`).
pub(super) fn variables(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, variable) in items(list).iter().enumerate() {
        let at = at.index(index);
        let name = text(&variable["name"]);
        if name.is_empty() {
            errors.required(at.child("name"), "");
        } else {
            errors.each(at.child("name"), name, environment_name(name, errors.profile.minor));
        }
        if variable["valueFrom"].is_object() {
            value_source(variable, at.child("valueFrom"), errors);
        }
    }
}

/// Validates the source of a value (`validateEnvVarValueFrom`).
fn value_source(variable: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let from = &variable["valueFrom"];
    let mut count = 0;
    let sources: [(&str, Check); 5] = [
        ("fieldRef", |source, at, errors| object_field(source, &FIELDS, at, errors)),
        ("resourceFieldRef", |source, at, errors| container_resource(source, false, at, errors)),
        ("configMapKeyRef", key),
        ("secretKeyRef", key),
        ("fileKeyRef", file_key),
    ];
    for (field, check) in sources {
        if from[field].is_object() {
            count += 1;
            check(&from[field], at.child(field), errors);
        }
    }
    if count == 0 {
        let files = errors.profile.minor >= since::ENVIRONMENT_FILES;
        let last = if files {
            "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        } else {
            "`configMapKeyRef` or `secretKeyRef`"
        };
        errors.invalid(at, "", format!("must specify one of: `fieldRef`, `resourceFieldRef`, {last}"));
    } else if !text(&variable["value"]).is_empty() {
        errors.invalid(at, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        errors.invalid(at, "", SEVERAL);
    }
}

/// Validates a key of a ConfigMap or Secret (`validateConfigMapKeySelector`, `validateSecretKeySelector`).
fn key(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    subdomain(&source["name"], at.child("name"), errors);
    match text(&source["key"]) {
        "" => errors.required(at.child("key"), ""),
        key => errors.each(at.child("key"), key, key_problems(key)),
    }
}

/// Validates a key of a file in a volume (`validateFileKeySelector`).
fn file_key(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(&source["key"]) {
        "" => errors.required(at.child("key"), ""),
        key => errors.each(at.child("key"), key, relaxed_environment_name(key)),
    }
    if text(&source["volumeName"]).is_empty() {
        errors.required(at.child("volumeName"), "");
    } else {
        plain_label(&source["volumeName"], at.child("volumeName"), errors);
    }
    match text(&source["path"]) {
        "" => errors.required(at.child("path"), ""),
        path => no_backsteps(path, at.child("path"), errors),
    }
}

/// Validates the objects whose entries become variables (`ValidateEnvFrom`).
pub(super) fn sources(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, source) in items(list).iter().enumerate() {
        let place = at.index(index);
        let prefix = text(&source["prefix"]);
        if !prefix.is_empty() {
            errors.each(place.child("prefix"), prefix, environment_name(prefix, errors.profile.minor));
        }
        let mut count = 0;
        for field in ["configMapRef", "secretRef"] {
            if source[field].is_object() {
                count += 1;
                let place = place.child(field);
                if text(&source[field]["name"]).is_empty() {
                    errors.required(place.child("name"), "");
                } else {
                    subdomain(&source[field]["name"], place.child("name"), errors);
                }
            }
        }
        match count {
            0 => errors.invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(at, "", SEVERAL),
        }
    }
}
