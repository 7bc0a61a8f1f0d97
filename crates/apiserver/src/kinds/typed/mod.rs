//! Decodes objects of built-in kinds as Go decodes them into structs, and changes them to what Go would
//! write.
//!
//! Field names are case-sensitive. Unknown fields are removed and reported. Null counts as absent. Zero
//! values that Go omits are removed, and those that it always writes are added. Times, quantities and base64
//! get their canonical form.

pub(crate) mod absent_times;
mod convert;
mod empties;
pub(crate) mod go_order;
mod plan;
mod scalar;
mod time;

use serde_json::{Map, Value, json};

pub(crate) use self::empties::{Empty, with_empties};
use self::plan::{Field, Plan, Shape, Struct, plan};
use self::scalar::ScalarError;
#[cfg(feature = "https")]
pub(crate) use self::scalar::check_base64;
use super::Kind;
use crate::facts::Scalar;
use crate::facts::go::Zero;
use crate::gotext::json_type;

/// The field whose validation shows whether it was absent or empty. Other empty lists become null here, as storing them does
/// in a real server; this one is never stored empty.
const SHOWN_EMPTY: (&str, &str) = ("CustomResourceDefinitionSpec", "versions");

/// Kinds that other kinds embed with their type, which is `apiVersion` and `kind`.
const EMBEDDED_KINDS: [&str; 1] = ["PersistentVolumeClaim"];

/// The position in the object, for messages.
#[derive(Clone, Copy)]
struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    /// A field: the struct, the structs that embed it, and its name.
    Field(&'a str, &'a [&'static str], &'a str),
    Index(usize),
    Key(&'a str),
}

/// The part of Go's libraries that turns a document into a struct. They differ in the values that they accept, and in their
/// messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// The JSON decoder: bodies, JSON patches and merge patches.
    #[default]
    Json,
    /// The converter of maps: the results of strategic merge patches and of applies.
    Map,
}

/// The result of decoding an object.
#[derive(Debug, Default)]
struct Findings {
    /// The minor whose fields are known.
    minor: u32,
    source: Source,
    /// The lists and maps that were given without elements.
    empties: Vec<Empty>,
    /// Paths of fields that the type does not have.
    unknown: Vec<String>,
    /// The message for the first value that cannot be decoded.
    error: Option<String>,
    /// Whether that is the value of a type with a decoder of its own, which ends the decoding.
    is_aborted: bool,
}

/// Changes an object to what Go would write after decoding it. Returns the paths of unknown fields, which are
/// removed.
///
/// # Errors
/// The message of Go's decoder for the first value of a wrong type.
pub(crate) fn decode(kind: &Kind, object: &mut Value, minor: u32) -> Result<Vec<String>, String> {
    decode_some(kind, object, Source::Json, None, minor).map(|decoded| decoded.unknown)
}

/// What the decoder found in a valid object.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// The paths of unknown fields, which were removed.
    pub(crate) unknown: Vec<String>,
    /// The lists and maps that were given without elements, which Go distinguishes from absent ones.
    pub(crate) empties: Vec<Empty>,
}

/// Like [`decode`], but only for these top-level fields; the others were decoded before.
pub(crate) fn decode_some(
    kind: &Kind,
    object: &mut Value,
    source: Source,
    fields: Option<&[String]>,
    minor: u32,
) -> Result<Decoded, String> {
    let resource = &kind.resource;
    read_as((&resource.group, &resource.version, &resource.kind), object, source, fields, minor)
}

/// Like [`decode`], for a type that is not a kind of its own, such as `Scale`, with the fields of all minors.
pub(crate) fn decode_as(
    group: &str,
    version: &str,
    kind: &str,
    object: &mut Value,
) -> Result<Vec<String>, String> {
    read_as((group, version, kind), object, Source::Json, None, u32::MAX).map(|decoded| decoded.unknown)
}

fn read_as(
    (group, version, kind): (&str, &str, &str),
    object: &mut Value,
    source: Source,
    fields: Option<&[String]>,
    minor: u32,
) -> Result<Decoded, String> {
    let plan = plan();
    let (Some(index), Value::Object(map)) = (plan.of_kind(group, version, kind), object) else {
        return Ok(Decoded::default());
    };
    let mut findings = Findings { minor, source, ..Findings::default() };
    let root = At { parent: None, step: Step::Root };
    decode_struct(plan, plan.get(index), map, &root, fields, &mut findings);
    match findings.error {
        Some(error) => Err(error),
        None => Ok(Decoded { unknown: findings.unknown, empties: findings.empties }),
    }
}

/// Checks that Go's converter accepts a value for a text.
///
/// # Errors
/// Its message.
pub(crate) fn check_text(value: &mut Value) -> Result<(), String> {
    convert::value(&Shape::Scalar(Scalar::String), value)
}

/// The zero value of a kind in Go, without its type: the fields that Go always writes. `None` for custom resources.
pub(crate) fn zero_object(kind: &Kind) -> Option<Value> {
    let plan = plan();
    let resource = &kind.resource;
    let index = plan.of_kind(&resource.group, &resource.version, &resource.kind)?;
    Some(plan.zero(&Shape::Struct(index)))
}

/// An object of a kind that nothing was read into, as a real server encodes it.
pub(crate) fn unread_object(kind: &Kind) -> Value {
    let mut object = json!({ "apiVersion": kind.resource.api_version(), "kind": kind.resource.kind });
    let Some(zero) = zero_object(kind) else { return object };
    let zero = kind.tracked_form(&zero).into_owned();
    object["metadata"] = json!({});
    if let (Some(fields), Value::Object(zero)) = (object.as_object_mut(), zero) {
        fields.extend(zero);
    }
    // The internal number of these kinds is no pointer.
    let has_number = ["deployments", "replicasets", "statefulsets"];
    if &*kind.resource.group == "apps" && has_number.contains(&&*kind.resource.plural) {
        object["spec"]["replicas"] = json!(0);
    }
    object
}

/// The zero value of a field of a kind, if the kind has that field.
pub(crate) fn zero(kind: &Kind, field: &str) -> Option<Value> {
    let plan = plan();
    let resource = &kind.resource;
    let structure = plan.get(plan.of_kind(&resource.group, &resource.version, &resource.kind)?);
    structure.field(field).map(|field| plan.zero(&field.shape))
}

fn decode_struct(
    plan: &Plan,
    structure: &Struct,
    map: &mut Map<String, Value>,
    at: &At<'_>,
    fields: Option<&[String]>,
    findings: &mut Findings,
) {
    let has_type = matches!(at.step, Step::Root) || EMBEDDED_KINDS.contains(&structure.name);
    let is_skipped = |name: &str| fields.is_some_and(|fields| !fields.iter().any(|field| field == name));
    // The converter of maps goes through the fields of the struct, the JSON decoder through those of the document.
    let is_decoded = findings.source == Source::Map;
    let minor = findings.minor;
    if is_decoded {
        // Afterwards a null is a value: the zero time.
        map.retain(|name, value| !value.is_null() || is_skipped(name) || structure.field(name).is_none());
    }
    for field in
        structure.in_order().filter(|field| is_decoded && field.since <= minor && !is_skipped(field.name))
    {
        if let Some(value) = map.get_mut(field.name).filter(|value| !value.is_null()) {
            decode_field(plan, (structure, field), value, at, findings);
        }
    }
    map.retain(|name, value| {
        if is_skipped(name) {
            return true;
        }
        let Some(field) = structure.field(name).filter(|field| field.since <= findings.minor) else {
            if has_type && (name == "apiVersion" || name == "kind") {
                return true;
            }
            findings.unknown.push(at.child(name, findings.source));
            return false;
        };
        if value.is_null() && !is_decoded {
            return false;
        }
        if !is_decoded {
            decode_field(plan, (structure, field), value, at, findings);
        }
        matches!(field.zero, Zero::Always | Zero::Null) || !vanishes(field.zero, value)
    });
    for field in structure.always() {
        match map.get_mut(field.name) {
            None => {
                map.insert(field.name.to_owned(), plan.zero_of(field));
            }
            Some(value)
                if is_empty(value)
                    && !matches!(field.shape, Shape::Struct(_) | Shape::Scalar(_))
                    && (structure.name, field.name) != SHOWN_EMPTY =>
            {
                *value = plan.zero_of(field);
            }
            Some(_) => {}
        }
    }
}

/// Decodes the value of a field, which is not null.
fn decode_field(
    plan: &Plan,
    (structure, field): (&Struct, &Field),
    value: &mut Value,
    at: &At<'_>,
    findings: &mut Findings,
) {
    let field_at = At { parent: Some(at), step: Step::Field(structure.name, &field.via, field.name) };
    if is_empty_collection(&field.shape, value) {
        let is_tagged = matches!(structure.name, "LabelSelector" | "LabelSelectorRequirement");
        findings.empties.push(Empty { pointer: field_at.pointer(), value: value.clone(), is_tagged });
    }
    decode_value(plan, &field.shape, value, &field_at, findings);
}

/// Whether Go omits a value.
fn vanishes(zero: Zero, value: &Value) -> bool {
    match value {
        // The zero time, to which a pointer can point.
        Value::Null => zero == Zero::Never,
        Value::Array(items) => zero == Zero::Never && items.is_empty(),
        Value::String(text) => zero == Zero::Never && text.is_empty(),
        Value::Bool(flag) => zero == Zero::Never && !flag,
        Value::Number(number) => zero == Zero::Never && number.as_f64() == Some(0.0),
        Value::Object(map) => zero == Zero::Never && map.is_empty(),
    }
}

fn is_empty_collection(shape: &Shape, value: &Value) -> bool {
    matches!(shape, Shape::List(_) | Shape::Map(_)) && is_empty(value)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn decode_value(plan: &Plan, shape: &Shape, value: &mut Value, at: &At<'_>, findings: &mut Findings) {
    match (shape, value) {
        (Shape::Struct(index), Value::Object(map)) => {
            decode_struct(plan, plan.get(*index), map, at, None, findings);
        }
        (Shape::List(inside), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                if item.is_null() {
                    *item = plan.zero(inside);
                } else {
                    decode_value(
                        plan,
                        inside,
                        item,
                        &At { parent: Some(at), step: Step::Index(index) },
                        findings,
                    );
                }
            }
        }
        (Shape::Map(inside), Value::Object(map)) => {
            for (key, item) in map.iter_mut() {
                if item.is_null() {
                    // Stored bytes are never null.
                    let is_bytes = matches!(**inside, Shape::Scalar(Scalar::Bytes));
                    *item = if is_bytes { Value::from("") } else { plan.zero(inside) };
                } else {
                    decode_value(
                        plan,
                        inside,
                        item,
                        &At { parent: Some(at), step: Step::Key(key) },
                        findings,
                    );
                }
            }
        }
        (Shape::Named(_), Value::String(_)) => {}
        (shape, value) if findings.source == Source::Map => {
            if let Err(why) = convert::value(shape, value) {
                findings.error.get_or_insert(why);
            }
        }
        (Shape::Scalar(scalar), value) => {
            if let Err(wrong) = scalar::read(*scalar, value) {
                let aborts = !matches!(wrong, ScalarError::Type(_)) && *scalar != Scalar::Bytes;
                if findings.is_aborted || findings.error.is_some() && !aborts {
                    return;
                }
                findings.is_aborted = aborts;
                findings.error = Some(match wrong {
                    ScalarError::Type(found) => at.mismatch(&found, &plan.go_name(shape)),
                    ScalarError::Inner(found, expected) => at.mismatch(&found, expected),
                    ScalarError::Text(text) => text,
                });
            }
        }
        (_, value) => {
            let found = json_type(value);
            findings.error.get_or_insert_with(|| at.mismatch(found, &plan.go_name(shape)));
        }
    }
}

impl At<'_> {
    /// The path of a field below this position, as strict decoding prints it.
    fn child(&self, name: &str, source: Source) -> String {
        let mut path = String::new();
        self.write(&mut path, source);
        if !path.is_empty() {
            path.push('.');
        }
        path + name
    }

    /// The JSON pointer of this position.
    fn pointer(&self) -> String {
        let before = self.parent.map(At::pointer).unwrap_or_default();
        match self.step {
            Step::Root => before,
            Step::Index(index) => format!("{before}/{index}"),
            Step::Field(_, _, name) | Step::Key(name) => {
                format!("{before}/{}", name.replace('~', "~0").replace('/', "~1"))
            }
        }
    }

    fn write(&self, path: &mut String, source: Source) {
        if let Some(parent) = self.parent {
            parent.write(path, source);
        }
        match self.step {
            Step::Root => {}
            // The converter of maps leaves out keys.
            Step::Key(_) if source == Source::Map => {}
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Field(_, _, name) | Step::Key(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
        }
    }

    /// Go's message for a value of a wrong type: the innermost struct, the path of fields, the expected type.
    fn mismatch(&self, found: &str, expected: &str) -> String {
        let (mut owner, mut fields) = ("", Vec::new());
        let mut at = Some(self);
        while let Some(here) = at {
            if let Step::Field(type_name, via, name) = here.step {
                if owner.is_empty() {
                    owner = type_name;
                }
                fields.push(name);
                fields.extend(via.iter().rev());
            }
            at = here.parent;
        }
        fields.reverse();
        let path = fields.join(".");
        format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {expected}")
    }
}

#[cfg(test)]
mod tests;
