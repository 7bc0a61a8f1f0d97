//! Validation of schemas in a CustomResourceDefinition: they must be structural, their defaults valid, and
//! their keywords compatible.
//!
//! Like in the server, defaults are validated only if the schema is structural, and keywords always. An error
//! in one check does not hide those of others.

mod completeness;
mod defaults;
mod keywords;
mod rule_texts;
mod structural;

use serde_json::{Map, Value};

use super::internal;
use crate::field::{Cause, FieldError, Shown};
use crate::profile::Profile;

/// The fields allowed at the root of a schema with a status subresource, as the server lists them.
const AT_ROOT_WITH_STATUS: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum \
    MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs \
    Example XPreserveUnknownFields XValidations]";
/// The fields that are not allowed there, by JSON name.
const NOT_AT_ROOT_WITH_STATUS: [&str; 20] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "enum",
    "id",
    "maxProperties",
    "minProperties",
    "not",
    "nullable",
    "oneOf",
    "patternProperties",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
];

/// The result of the validation of a schema.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) errors: Vec<FieldError>,
    /// The paths of the schemas with invalid keywords; `None` if rules cannot be compiled because the whole schema is not
    /// structural or has invalid defaults.
    pub(crate) invalid: Option<Vec<String>>,
}

/// Validates a schema. `at` is its path; `status` is whether its kind has a status subresource.
pub(crate) fn check(schema: &Value, at: &str, status: bool, profile: &Profile) -> Found {
    let mut errors = Vec::new();
    if status {
        errors.extend(check_root(schema, at));
    }
    if is_true(schema, "nullable") {
        errors.push(FieldError::forbidden(format!("{at}.nullable"), "nullable cannot be true at the root"));
    }
    // The check of keywords reports keywords that structural schemas lack, except for those that only this
    // check finds.
    let unsupported = structural::unsupported(schema);
    let mut has_declarations = false;
    if unsupported.is_none() {
        let mut found = structural::check(schema, at);
        if found.is_empty() {
            found = defaults::check(schema, at, profile);
        }
        has_declarations = found.is_empty();
        errors.extend(found);
    }
    let keywords = keywords::check(schema, at, profile);
    errors.extend(keywords.errors);
    if let Some(keyword) = unsupported.filter(|_| errors.is_empty()) {
        let why = format!("OpenAPIV3Schema '{keyword}' is not supported");
        errors.push(FieldError::invalid(at, "", why));
    }
    Found { errors, invalid: has_declarations.then_some(keywords.invalid) }
}

/// With a status subresource, the status is validated by its own part of the schema. The root must not have
/// restrictions, because they would not apply to it.
fn check_root(schema: &Value, at: &str) -> Option<FieldError> {
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid(format!("{at}.type"), kind, why));
    }
    NOT_AT_ROOT_WITH_STATUS.iter().any(|name| is_set(schema, name)).then(|| FieldError {
        cause: Cause::Invalid,
        field: at.to_owned(),
        value: Shown::Text(internal::schema(schema)),
        detail: format!(
            "only {AT_ROOT_WITH_STATUS} fields are allowed at the root of the schema if the status subresource is \
             enabled"
        ),
    })
}

/// Whether a keyword has an effect. Null, false and empty strings, lists and maps have none.
fn is_set(schema: &Value, name: &str) -> bool {
    match &schema[name] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => name == "not" || name == "additionalProperties" || !map.is_empty(),
        _ => true,
    }
}

fn is_true(schema: &Value, name: &str) -> bool {
    schema[name] == true
}

fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema[name].as_str().unwrap_or_default()
}

fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flat_map(Map::iter)
}

/// The schema in a keyword that has at most one.
fn nested<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    Some(&schema[name]).filter(|inner| inner.is_object())
}

/// The compositions with several branches.
const COMPOSITIONS: [&str; 3] = ["allOf", "oneOf", "anyOf"];

/// The branches of all compositions, with their paths below `at`.
fn branches<'a>(schema: &'a Value, at: &str) -> Vec<(&'a Value, String)> {
    let mut found: Vec<(&Value, String)> = Vec::new();
    for name in COMPOSITIONS {
        let listed = list(schema, name).iter().enumerate();
        found.extend(listed.map(|(index, branch)| (branch, format!("{at}.{name}[{index}]"))));
    }
    found.extend(nested(schema, "not").map(|branch| (branch, format!("{at}.not"))));
    found
}

#[cfg(test)]
mod tests;
