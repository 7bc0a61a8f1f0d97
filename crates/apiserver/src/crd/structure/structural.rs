//! The invariants of structural schemas (`schema.ValidateStructural`).

use serde_json::{Value, json};

use super::{branches, completeness, is_set, is_true, list, nested, properties, text};
use crate::field::FieldError;
use crate::gotext::regexp;
use crate::profile::Profile;

/// The place of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Finds a keyword, or a value of one, that structural schemas cannot have, anywhere in a schema.
pub(super) fn unsupported(schema: &Value) -> Option<&'static str> {
    const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
    const KEYWORDS: [(&str, &str); 7] = [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("additionalItems", "additionalItems"),
        ("patternProperties", "patternProperties"),
        ("definitions", "definitions"),
        ("dependencies", "dependencies"),
    ];
    let here = KEYWORDS.iter().find(|(name, _)| is_set(schema, name)).map(|(_, shown)| *shown);
    let items = schema["items"].is_array().then_some("items");
    let prunes = (schema[PRESERVE] == false).then_some(PRESERVE);
    let below = || {
        properties(schema)
            .map(|(_, property)| property)
            .chain(["items", "additionalProperties", "not"].iter().filter_map(|name| nested(schema, name)))
            .chain(["allOf", "oneOf", "anyOf"].iter().flat_map(|name| list(schema, name)))
            .find_map(unsupported)
    };
    here.or(items).or(prunes).or_else(below)
}

/// Returns all errors, ordered by their texts.
pub(super) fn check(schema: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, Level::Root, at, &mut errors);
    completeness::check(schema, at, &mut errors);
    let profile = Profile::of(u32::MAX, false);
    errors.sort_by_cached_key(|error| error.text(&profile));
    errors
}

/// Checks a node outside of compositions.
fn node(schema: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    if kind == "array" && !is_present(schema, "items") {
        errors.push(FieldError::required(format!("{at}.items"), "must be specified"));
    }
    if let Some(items) = nested(schema, "items") {
        node(items, Level::Item, &format!("{at}.items"), errors);
    }
    for (name, property) in properties(schema) {
        node(property, Level::Field, &format!("{at}.properties[{name}]"), errors);
    }
    additional(schema, level, at, errors);
    flags(schema, at, errors);
    restrictions(schema, at, errors);
    types(schema, kind, level, at, errors);
    object_fields(schema, level, at, errors);
    let embedded = is_true(schema, "x-kubernetes-embedded-resource");
    let preserves = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && !preserves && properties(schema).next().is_none() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{at}.properties"), why));
    }
}

fn is_present(schema: &Value, name: &str) -> bool {
    schema.get(name).is_some_and(|value| !value.is_null())
}

fn additional(schema: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    if !is_present(schema, "additionalProperties") {
        return;
    }
    let at = format!("{at}.additionalProperties");
    if level == Level::Root {
        errors.push(FieldError::forbidden(at.as_str(), "must not be used at the root"));
    }
    if is_true(schema, "x-kubernetes-embedded-resource") {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(at.as_str(), why));
    }
    if let Some(values) = nested(schema, "additionalProperties") {
        node(values, Level::Field, &at, errors);
    }
}

/// Rejects extensions that exclude each other.
fn flags(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if !is_true(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if is_true(schema, name) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(format!("{at}.{name}"), true, why));
        }
    }
}

fn types(schema: &Value, kind: &str, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let at = format!("{at}.type");
    let free = ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"];
    if is_true(schema, "x-kubernetes-embedded-resource") && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            FieldError::required(at.as_str(), why)
        } else {
            FieldError::invalid(at.as_str(), kind, why)
        });
    } else if kind.is_empty() && !free.iter().any(|name| is_true(schema, name)) {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(at.as_str(), why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(at, kind, "must be object at the root"));
    }
}

/// `apiVersion`, `kind` and `metadata` of whole objects belong to the server; a schema may only restrict
/// names.
fn object_fields(schema: &Value, level: Level, at: &str, errors: &mut Vec<FieldError>) {
    let whole = level == Level::Root || is_true(schema, "x-kubernetes-embedded-resource");
    let property = |name: &str| schema["properties"].get(name);
    for name in ["kind", "apiVersion"] {
        let found = property(name).map(|property| text(property, "type"));
        if let Some(kind) = found.filter(|kind| whole && *kind != "string") {
            errors.push(FieldError::invalid(format!("{at}.properties[{name}].type"), kind, "must be string"));
        }
    }
    let Some(metadata) = property("metadata") else { return };
    let at = format!("{at}.properties[metadata]");
    let kind = text(metadata, "type");
    if whole && kind != "object" {
        errors.push(FieldError::invalid(format!("{at}.type"), kind, "must be object"));
    }
    if level == Level::Root && !is_plain_metadata(metadata) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(at, why));
    }
}

/// Whether a schema of metadata has only a type and the properties `name` and `generateName`.
fn is_plain_metadata(metadata: &Value) -> bool {
    let named = properties(metadata).all(|(name, _)| name == "name" || name == "generateName");
    let others = metadata.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    named
        && others
            .filter(|name| is_set(metadata, name))
            .all(|name| matches!(name, "type" | "properties" | "default"))
}

/// Checks compositions and patterns. Only the compositions that spell out int-or-string may have types.
fn restrictions(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let by_any_of = schema["anyOf"] == either;
    let by_all_of = list(schema, "allOf").first().is_some_and(|first| first["anyOf"] == either);
    for (branch, at_branch) in branches(schema, at) {
        if by_any_of && at_branch.starts_with(&format!("{at}.anyOf[")) {
            continue;
        }
        let spelled_out = by_all_of && at_branch == format!("{at}.allOf[0]");
        self::branch(branch, &at_branch, spelled_out, errors);
    }
    pattern(schema, at, errors);
}

fn pattern(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let pattern = text(schema, "pattern");
    if let Err(error) = regexp::compile(pattern) {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(format!("{at}.pattern"), pattern, why));
    }
}

/// Keywords allowed only outside of compositions, with the word for their required value.
const OUTSIDE_ONLY: [(&str, &str); 13] = [
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("externalDocs", "undefined"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
];

/// A branch of a composition may restrict values, but not declare them. `spelled_out` means that its `anyOf`
/// spells out int-or-string.
fn branch(schema: &Value, at: &str, spelled_out: bool, errors: &mut Vec<FieldError>) {
    for (inner, at_inner) in branches(schema, at) {
        if spelled_out && at_inner.starts_with(&format!("{at}.anyOf[")) {
            continue;
        }
        branch(inner, &at_inner, false, errors);
    }
    pattern(schema, at, errors);
    if let Some(items) = nested(schema, "items") {
        branch(items, &format!("{at}.items"), false, errors);
    }
    for (name, property) in properties(schema) {
        branch(property, &format!("{at}.properties[{name}]"), false, errors);
    }
    for (name, must_be) in OUTSIDE_ONLY {
        let found = if must_be == "undefined" { is_present(schema, name) } else { is_set(schema, name) };
        if found {
            errors.push(FieldError::forbidden(
                format!("{at}.{name}"),
                format!("must be {must_be} to be structural"),
            ));
        }
    }
    if !list(schema, "x-kubernetes-validations").is_empty() {
        let at = format!("{at}.x-kubernetes-validations");
        errors.push(FieldError::forbidden(at, "must be empty to be structural"));
    }
    if schema["properties"].get("metadata").is_some() {
        let at = format!("{at}.properties[metadata]");
        errors.push(FieldError::forbidden(at, "must not be specified in a nested context"));
    }
}
