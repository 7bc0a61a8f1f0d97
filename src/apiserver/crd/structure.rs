//! Whether a schema is structural, as `apiextensions.k8s.io/v1` demands.

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::apiserver::field::{FieldError, Shown};
use crate::apiserver::profile::Profile;
use crate::apiserver::schema::{Structural, validate};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const COMPOSITIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// What stands only outside of compositions.
const OUTSIDE_ONLY: [&str; 8] = [
    "type",
    "description",
    "title",
    "default",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "nullable",
];

/// All errors of a schema; `at` is its own path.
pub(crate) fn check(schema: &Value, at: &str, profile: &Profile) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema["type"].as_str().is_some_and(|kind| kind != "object") {
        let why = "must be object at the root";
        errors.push(FieldError::invalid(format!("{at}.type"), schema["type"].clone(), why));
        return errors;
    }
    Walk { profile, errors: &mut errors }.node(schema, at, "must not be empty at the root");
    errors
}

struct Walk<'a> {
    profile: &'a Profile,
    errors: &'a mut Vec<FieldError>,
}

impl Walk<'_> {
    /// A node outside of compositions; `typeless` says why it must have a type.
    fn node(&mut self, schema: &Value, at: &str, typeless: &str) {
        let Some(map) = schema.as_object() else { return };
        let flag = |name: &str| map.get(name) == Some(&json!(true));
        let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
        let free = flag("x-kubernetes-int-or-string") || flag("x-kubernetes-preserve-unknown-fields");
        if kind.is_empty() && !free {
            self.errors.push(FieldError::required(format!("{at}.type"), typeless));
        }
        if !kind.is_empty() && !TYPES.contains(&kind) {
            let error = FieldError::not_supported(format!("{at}.type"), Shown::Json(json!(kind)), &TYPES);
            self.errors.push(error);
        }
        self.keywords(map, at, kind);
        self.list(map, at);
        self.default(schema, at);
        for name in COMPOSITIONS {
            for (index, branch) in map.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
                self.branch(branch, map, &format!("{at}.{name}[{index}]"));
            }
        }
        if let Some(not) = map.get("not") {
            self.branch(not, map, &format!("{at}.not"));
        }
        for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.node(
                property,
                &format!("{at}.properties[{name}]"),
                "must not be empty for specified object fields",
            );
        }
        if let Some(items) = map.get("items") {
            self.node(items, &format!("{at}.items"), "must not be empty for specified array items");
        }
        if let Some(values @ Value::Object(_)) = map.get("additionalProperties") {
            self.node(
                values,
                &format!("{at}.additionalProperties"),
                "must not be empty for specified object fields",
            );
        }
    }

    fn keywords(&mut self, map: &Map<String, Value>, at: &str, kind: &str) {
        let has = |name: &str| map.get(name).is_some_and(|value| !value.is_null());
        let properties = map.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
        let mut forbid =
            |name: &str, why: &str| self.errors.push(FieldError::forbidden(format!("{at}.{name}"), why));
        if has("$ref") {
            forbid("$ref", "$ref is not supported");
        }
        if map.get("uniqueItems") == Some(&json!(true)) {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            forbid("uniqueItems", why);
        }
        if properties && map.get("additionalProperties").is_some_and(|values| *values != json!(false)) {
            forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
        }
        if kind == "array" && !has("items") {
            self.errors.push(FieldError::required(format!("{at}.items"), "must be specified"));
        }
        let embedded = map.get("x-kubernetes-embedded-resource") == Some(&json!(true));
        let preserve = map.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
        if embedded && !preserve && !properties {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
            self.errors.push(FieldError::required(format!("{at}.properties"), why));
        }
        if let Some(pattern) = map.get("pattern").and_then(Value::as_str)
            && Regex::new(pattern).is_err()
        {
            let why = format!("must be a valid regular expression, but isn't: {}", regex_error(pattern));
            self.errors.push(FieldError::invalid(format!("{at}.pattern"), pattern, why));
        }
    }

    /// Lists that are maps need keys that every element has.
    fn list(&mut self, map: &Map<String, Value>, at: &str) {
        if map.get("x-kubernetes-list-type") != Some(&json!("map")) {
            return;
        }
        let keys =
            map.get("x-kubernetes-list-map-keys").and_then(Value::as_array).cloned().unwrap_or_default();
        let at_keys = format!("{at}.x-kubernetes-list-map-keys");
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.errors.push(FieldError::required(at_keys, why));
            return;
        }
        let items = map.get("items").cloned().unwrap_or_default();
        if items["type"] != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            self.errors.push(FieldError::invalid(format!("{at}.items.type"), items["type"].clone(), why));
            return;
        }
        if keys.iter().any(|key| items["properties"].get(key.as_str().unwrap_or_default()).is_none()) {
            let why = "entries must all be names of item properties";
            self.errors.push(FieldError::invalid(at_keys, Value::Array(keys), why));
            return;
        }
        let required = items["required"].as_array().cloned().unwrap_or_default();
        for key in &keys {
            let name = key.as_str().unwrap_or_default();
            let property = &items["properties"][name];
            let at = format!("{at}.items.properties[{name}]");
            if matches!(property["type"].as_str(), Some("object" | "array")) {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.errors.push(FieldError::invalid(format!("{at}.type"), property["type"].clone(), why));
            } else if property.get("default").is_none() && !required.contains(key) {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                           required property";
                self.errors.push(FieldError::required(format!("{at}.default"), why));
            }
        }
    }

    /// A default must be what its schema allows.
    fn default(&mut self, schema: &Value, at: &str) {
        let Some(default) = schema.get("default").filter(|default| !default.is_null()) else { return };
        let at = format!("{at}.default");
        let context = validate::Context { profile: self.profile, field_prefix: &at, text_prefix: "" };
        self.errors.extend(validate::validate(default, None, &Structural::read(schema), context));
    }

    /// A branch of a composition may restrict values, but not say what they are.
    fn branch(&mut self, branch: &Value, around: &Map<String, Value>, at: &str) {
        let int_or_string = around.get("x-kubernetes-int-or-string") == Some(&json!(true));
        for name in OUTSIDE_ONLY {
            let found = branch.get(name).is_some_and(|value| *value != json!(false) && !value.is_null());
            if found && !(int_or_string && name == "type") {
                self.errors
                    .push(FieldError::forbidden(format!("{at}.{name}"), "must be empty to be structural"));
            }
        }
        for (name, property) in branch["properties"].as_object().into_iter().flatten() {
            self.branch(property, around, &format!("{at}.properties[{name}]"));
        }
        if branch["items"].is_object() {
            self.branch(&branch["items"], around, &format!("{at}.items"));
        }
    }
}

/// Go's words for the commonest mistakes in patterns; for others, those of the library in use.
fn regex_error(pattern: &str) -> String {
    let count = |c: char| pattern.matches(c).count();
    if count('(') > count(')') {
        return format!("error parsing regexp: missing closing ): `{pattern}`");
    }
    if count(')') > count('(') {
        return format!("error parsing regexp: unexpected ): `{pattern}`");
    }
    if count('[') > count(']') {
        return format!("error parsing regexp: missing closing ]: `{pattern}`");
    }
    let error = Regex::new(pattern).err().map(|error| error.to_string()).unwrap_or_default();
    format!(
        "error parsing regexp: {}",
        error.lines().last().unwrap_or_default().trim_start_matches("error: ")
    )
}
