//! Validation of keywords and their combinations (`ValidateCustomResourceDefinitionOpenAPISchema`).

use serde_json::{Value, json};

use super::{COMPOSITIONS, is_set, is_true, list, nested, properties, rule_texts, text};
use crate::field::{FieldError, Shown};
use crate::profile::Profile;
use crate::repeats::repeated;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// Keywords of JSON schema that the server does not support.
const UNSUPPORTED: [&str; 6] =
    ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
/// Fields of every whole object.
const OBJECT_FIELDS: [&str; 3] = ["metadata", "kind", "apiVersion"];

/// Properties of a node that depend on its place.
#[derive(Debug, Clone, Copy, Default)]
struct Place<'a> {
    root: bool,
    /// Within the metadata or the type of a whole object.
    inside_meta: bool,
    /// Why defaults are forbidden here.
    no_defaults: Option<&'a str>,
}

/// The errors of the keywords of a schema.
#[derive(Debug)]
pub(super) struct Keywords<'p> {
    profile: &'p Profile,
    pub(super) errors: Vec<FieldError>,
    /// The paths of the schemas that have them.
    pub(super) invalid: Vec<String>,
}

/// Validates the keywords of a schema and of those below it.
pub(super) fn check<'p>(schema: &Value, at: &str, profile: &'p Profile) -> Keywords<'p> {
    let mut found = Keywords { profile, errors: Vec::new(), invalid: Vec::new() };
    node(schema, at, Place { root: true, ..Place::default() }, &mut found);
    found
}

fn node(schema: &Value, at: &str, place: Place<'_>, found: &mut Keywords<'_>) {
    let start = found.errors.len();
    supported(schema, at, place, &mut found.errors);
    let own = found.errors.len() - start;
    below(schema, at, place, found);
    let start = found.errors.len();
    extensions(schema, at, &mut found.errors);
    list_map(schema, at, &mut found.errors);
    list_elements(schema, at, &mut found.errors);
    found.errors.extend(rule_texts::check(schema, at, found.profile));
    if own > 0 || found.errors.len() > start {
        found.invalid.push(at.to_owned());
    }
}

/// Rejects keywords that are forbidden everywhere, and unknown types.
fn supported(schema: &Value, at: &str, place: Place<'_>, errors: &mut Vec<FieldError>) {
    let mut forbid = |name: &str, why: String| {
        errors.push(FieldError::forbidden(format!("{at}.{name}"), why));
    };
    for name in UNSUPPORTED {
        // An empty reference is one.
        if is_set(schema, name) || name == "$ref" && schema[name].is_string() {
            forbid(name, format!("{name} is not supported"));
        }
    }
    if let Some(why) =
        place.no_defaults.filter(|_| schema.get("default").is_some_and(|value| !value.is_null()))
    {
        forbid("default", format!("must not be set {why}"));
    }
    let kind = text(schema, "type");
    if kind == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative".to_owned());
    }
    if !list(schema, "items").is_empty() {
        forbid("items", "items must be a schema object and not an array".to_owned());
    }
    if place.inside_meta && is_true(schema, "x-kubernetes-embedded-resource") {
        forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta".to_owned());
    }
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(format!("{at}.type"), Shown::Json(json!(kind)), &TYPES));
    }
    if is_true(schema, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(format!("{at}.uniqueItems"), why));
    }
    let values = &schema["additionalProperties"];
    if (values.is_object() || *values == false) && properties(schema).next().is_some() {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(format!("{at}.additionalProperties"), why));
    }
}

fn below(schema: &Value, at: &str, place: Place<'_>, found: &mut Keywords<'_>) {
    let inner = Place { root: false, ..place };
    let values = &schema["additionalProperties"];
    if values.is_object() {
        let mut inner = inner;
        if place.inside_meta {
            inner.no_defaults = Some("inside additionalProperties applying to object metadata");
        }
        node(values, &format!("{at}.additionalProperties"), inner, found);
    }
    let whole = place.root || is_true(schema, "x-kubernetes-embedded-resource");
    for (name, property) in properties(schema) {
        let why = format!("in top-level {name}");
        let mut inner = inner;
        if whole && OBJECT_FIELDS.contains(&name.as_str()) {
            inner.inside_meta = true;
            if place.root {
                inner.no_defaults = Some(&why);
            }
        }
        node(property, &format!("{at}.properties[{name}]"), inner, found);
    }
    if let Some(not) = nested(schema, "not") {
        node(not, &format!("{at}.not"), inner, found);
    }
    for name in COMPOSITIONS {
        for (index, branch) in list(schema, name).iter().enumerate() {
            node(branch, &format!("{at}.{name}[{index}]"), inner, found);
        }
    }
    if let Some(items) = nested(schema, "items") {
        node(items, &format!("{at}.items"), inner, found);
    }
}

/// Checks `x-kubernetes-preserve-unknown-fields`, `-map-type` and `-list-type`.
fn extensions(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let at = format!("{at}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(at, false, "must be true or undefined"));
    }
    for (name, kind, known) in [
        ("x-kubernetes-map-type", "object", ["atomic", "granular"].as_slice()),
        ("x-kubernetes-list-type", "array", ["atomic", "set", "map"].as_slice()),
    ] {
        let Some(given) = schema[name].as_str() else { continue };
        let (at_type, why) = (format!("{at}.type"), format!("must be {kind} if {name} is specified"));
        match text(schema, "type") {
            "" => errors.push(FieldError::required(at_type, why)),
            other if other != kind => errors.push(FieldError::invalid(at_type, other, why)),
            _ if given == "set" && name == "x-kubernetes-list-type" => set(schema, at, errors),
            _ => {}
        }
        if !known.contains(&given) {
            let at = format!("{at}.{name}");
            errors.push(FieldError::not_supported(at, Shown::Json(json!(given)), known));
        }
    }
}

/// Elements of sets are compared as a whole, so they must be atomic.
fn set(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let items = &schema["items"];
    let (name, granular) = match text(items, "type") {
        "array" => {
            let kind = items["x-kubernetes-list-type"].as_str();
            ("x-kubernetes-list-type", kind.is_some_and(|kind| kind != "atomic"))
        }
        "object" => ("x-kubernetes-map-type", items["x-kubernetes-map-type"] != "atomic"),
        _ => return,
    };
    if granular {
        // The server shows the list type in both cases.
        let shown = items["x-kubernetes-list-type"].clone();
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.push(FieldError::invalid(format!("{at}.items.{name}"), shown, why));
    }
}

/// Lists of type `map` need keys that all elements have.
fn list_map(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let kind = schema["x-kubernetes-list-type"].as_str();
    let keys = list(schema, "x-kubernetes-list-map-keys");
    if kind != Some("map") {
        if !keys.is_empty() {
            let (at, why) = (
                format!("{at}.x-kubernetes-list-type"),
                "must be map if x-kubernetes-list-map-keys is non-empty",
            );
            errors.push(match kind {
                None => FieldError::required(at, why),
                Some(kind) => FieldError::invalid(at, kind, why),
            });
        }
        return;
    }
    let at_keys = format!("{at}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(at_keys.as_str(), why));
    }
    let Some(items) = nested(schema, "items") else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{at}.items"), why));
        return;
    };
    if text(items, "type") != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{at}.items.type"), text(items, "type"), why));
        return;
    }
    let is_repeated = repeated(keys.iter().map(Value::to_string));
    for (index, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match items["properties"].get(name).map(|property| text(property, "type")) {
            Some("array" | "object") => {
                let at = format!("{at}.items.properties[{name}].type");
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                // The server shows the type of the elements here.
                errors.push(FieldError::invalid(at, text(items, "type"), why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                errors.push(FieldError::invalid_list(at_keys.as_str(), &json!(keys), "string", why));
            }
        }
        if is_repeated[index] {
            let why = "must not contain duplicate entries";
            errors.push(FieldError::invalid_list(at_keys.as_str(), &json!(keys), "string", why));
        }
    }
}

/// Elements of sets and maps must not be null, and map keys must have a value.
fn list_elements(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(kind @ ("set" | "map")) = schema["x-kubernetes-list-type"].as_str() else { return };
    let Some(items) = nested(schema, "items") else { return };
    if is_true(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(FieldError::forbidden(format!("{at}.items.nullable"), why));
    }
    if kind == "set" {
        return;
    }
    for key in list(schema, "x-kubernetes-list-map-keys") {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = items["properties"].get(name) else { continue };
        let at = format!("{at}.items.properties[{name}]");
        if property.get("default").is_none_or(Value::is_null) && !list(items, "required").contains(key) {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                       property";
            errors.push(FieldError::required(format!("{at}.default"), why));
        }
        if is_true(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{at}.nullable"), why));
        }
    }
}
