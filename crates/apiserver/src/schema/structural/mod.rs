//! Structural schemas, parsed once from a CustomResourceDefinition.

pub(super) mod properties;

use regex::Regex;
use serde_json::{Map, Value};

use super::format::NamedFormat;
use crate::gotext::regexp;
use crate::schema::structural::properties::Properties;

/// One node of a structural schema.
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of the schema language")]
#[derive(Debug, Clone, Default)]
pub(crate) struct Structural {
    /// Allowed types: several for int-or-string, none if any type is allowed.
    pub(crate) types: Vec<&'static str>,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) properties: Properties,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Structural>>,
    pub(crate) required: Vec<String>,
    pub(crate) default: Option<Value>,
    pub(crate) checks: Checks,
    pub(crate) list_type: ListType,
    pub(crate) list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type: atomic`.
    pub(crate) map_atomic: bool,
    /// `x-kubernetes-validations` of this node, unparsed.
    pub(crate) rules: Vec<Value>,
    /// Whether this node or any node below it has rules.
    pub(crate) has_rules: bool,
    /// Whether this node or any node below it is an embedded object.
    pub(crate) has_embedded: bool,
    /// Whether this node or any node below it has a default.
    pub(crate) has_defaults: bool,
    /// Whether one of these defaults contains a null.
    pub(crate) has_null_defaults: bool,
    /// Whether this node or any node below it is a list of type `set` or `map`.
    pub(crate) has_keyed_lists: bool,
    /// Whether neither this node nor any node below it keeps unknown fields.
    pub(crate) is_closed: bool,
}

/// `additionalProperties`.
#[derive(Debug, Clone)]
pub(crate) enum Additional {
    /// Any value.
    Anything,
    /// Values of this schema.
    Of(Box<Structural>),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

/// Restrictions of values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) enumeration: Vec<Value>,
    pub(crate) format: Option<NamedFormat>,
    pub(crate) pattern: Option<(String, Regex)>,
    pub(crate) minimum: Option<(f64, bool)>,
    pub(crate) maximum: Option<(f64, bool)>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<Structural>,
    pub(crate) any_of: Vec<Structural>,
    pub(crate) one_of: Vec<Structural>,
    pub(crate) not: Option<Box<Structural>>,
}

/// Types by their schema names.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

impl Structural {
    /// Parses a schema and ignores unknown keywords: the validation of CustomResourceDefinitions rejects
    /// invalid schemas.
    pub(crate) fn read(schema: &Value) -> Self {
        let Some(map) = schema.as_object() else { return Self::default() };
        let flag = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or(false);
        let int_or_string = flag("x-kubernetes-int-or-string");
        let types = if int_or_string { vec!["integer", "string"] } else { read_type(map) };
        let mut node = Self {
            types,
            nullable: flag("nullable"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            properties: read_map(map.get("properties")),
            additional: read_additional(map.get("additionalProperties")),
            items: map
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Box::new(Self::read(items))),
            required: read_strings(map.get("required")),
            default: map.get("default").cloned(),
            checks: Checks::read(map),
            list_type: read_list_type(map),
            list_map_keys: read_strings(map.get("x-kubernetes-list-map-keys")),
            map_atomic: map.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic"),
            rules: map.get("x-kubernetes-validations").and_then(Value::as_array).cloned().unwrap_or_default(),
            has_rules: false,
            has_embedded: false,
            has_defaults: false,
            has_null_defaults: false,
            has_keyed_lists: false,
            is_closed: false,
        };
        node.has_rules = !node.rules.is_empty() || node.children().any(|child| child.has_rules);
        node.has_embedded = node.embedded_resource || node.children().any(|child| child.has_embedded);
        node.has_defaults = node.default.is_some() || node.children().any(|child| child.has_defaults);
        let null = node.default.as_ref().is_some_and(has_null);
        node.has_null_defaults = null || node.children().any(|child| child.has_null_defaults);
        let keyed = node.list_type != ListType::Atomic;
        node.has_keyed_lists = keyed || node.children().any(|child| child.has_keyed_lists);
        let keeps = matches!(node.additional, Some(Additional::Anything));
        let open = keeps || node.preserve_unknown || node.embedded_resource;
        node.is_closed = !open && node.children().all(|child| child.is_closed);
        node
    }

    /// The schemas directly below this one.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Self> {
        self.properties.values().chain(self.items.as_deref()).chain(self.additional())
    }

    /// The entries of a map, each with the schema of its property.
    pub(crate) fn along<'s, 'n, V>(
        &'s self,
        entries: impl Iterator<Item = (&'n String, V)>,
    ) -> impl Iterator<Item = (&'n String, V, Option<&'s Self>)> {
        self.properties.zip_with_entries(entries)
    }

    /// The schema of additional properties, if there is one.
    pub(crate) fn additional(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The schema of a named or additional property. `None` if it is unknown or has no schema.
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional())
    }
}

impl Checks {
    fn read(map: &Map<String, Value>) -> Self {
        let size = |name: &str| map.get(name).and_then(Value::as_u64);
        let number = |name: &str| map.get(name).and_then(Value::as_f64);
        let flag = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or(false);
        let list = |name: &str| -> Vec<Structural> {
            map.get(name)
                .and_then(Value::as_array)
                .map(|branches| branches.iter().map(Structural::read).collect())
                .unwrap_or_default()
        };
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        Self {
            enumeration: map.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            format: text("format").and_then(NamedFormat::find),
            pattern: text("pattern").and_then(|text| Some((text.to_owned(), regexp::compile(text).ok()?))),
            minimum: number("minimum").map(|bound| (bound, flag("exclusiveMinimum"))),
            maximum: number("maximum").map(|bound| (bound, flag("exclusiveMaximum"))),
            multiple_of: number("multipleOf"),
            min_length: size("minLength"),
            max_length: size("maxLength"),
            min_items: size("minItems"),
            max_items: size("maxItems"),
            unique_items: flag("uniqueItems"),
            min_properties: size("minProperties"),
            max_properties: size("maxProperties"),
            all_of: list("allOf"),
            any_of: list("anyOf"),
            one_of: list("oneOf"),
            not: map.get("not").map(|not| Box::new(Structural::read(not))),
        }
    }
}

/// Whether a value contains a null.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().any(has_null),
        Value::Array(items) => items.iter().any(has_null),
        _ => false,
    }
}

fn read_type(map: &Map<String, Value>) -> Vec<&'static str> {
    let given = map.get("type").and_then(Value::as_str);
    TYPES.into_iter().filter(|name| Some(*name) == given).collect()
}

fn read_map(value: Option<&Value>) -> Properties {
    let read = |(name, schema): (&String, &Value)| (name.clone(), Structural::read(schema));
    value.and_then(Value::as_object).map(|map| map.iter().map(read).collect()).unwrap_or_default()
}

fn read_strings(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn read_additional(value: Option<&Value>) -> Option<Additional> {
    match value? {
        Value::Bool(true) => Some(Additional::Anything),
        schema @ Value::Object(_) => Some(Additional::Of(Box::new(Structural::read(schema)))),
        _ => None,
    }
}

fn read_list_type(map: &Map<String, Value>) -> ListType {
    match map.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map,
        _ => ListType::Atomic,
    }
}
