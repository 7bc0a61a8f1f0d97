//! Decodes objects of built-in kinds as Go decodes them into structs, and changes them to what Go would
//! write.
//!
//! Field names are case-sensitive. Unknown fields are removed and reported. Null counts as absent. Zero
//! values that Go omits are removed, and those that it always writes are added. Times and quantities get
//! their canonical form; base64 is only checked.

mod plan;
mod scalar;
mod time;

use serde_json::{Map, Value};

use self::plan::{Plan, Shape, Struct, plan};
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

/// The result of decoding an object.
#[derive(Debug, Default)]
struct Findings {
    /// Paths of fields that the type does not have.
    unknown: Vec<String>,
    /// The message for the first value that cannot be decoded.
    error: Option<String>,
}

/// Changes an object to what Go would write after decoding it. Returns the paths of unknown fields, which are
/// removed.
///
/// # Errors
/// The message of Go's decoder for the first value of a wrong type.
pub(crate) fn decode(kind: &Kind, object: &mut Value) -> Result<Vec<String>, String> {
    decode_some(kind, object, None)
}

/// Like [`decode`], but only for these top-level fields; the others were decoded before.
pub(crate) fn decode_some(
    kind: &Kind,
    object: &mut Value,
    fields: Option<&[String]>,
) -> Result<Vec<String>, String> {
    let resource = &kind.resource;
    read_as((&resource.group, &resource.version, &resource.kind), object, fields)
}

/// Like [`decode`], for a type that is not a kind of its own, such as `Scale`.
pub(crate) fn decode_as(
    group: &str,
    version: &str,
    kind: &str,
    object: &mut Value,
) -> Result<Vec<String>, String> {
    read_as((group, version, kind), object, None)
}

fn read_as(
    (group, version, kind): (&str, &str, &str),
    object: &mut Value,
    fields: Option<&[String]>,
) -> Result<Vec<String>, String> {
    let plan = plan();
    let (Some(index), Value::Object(map)) = (plan.of_kind(group, version, kind), object) else {
        return Ok(Vec::new());
    };
    let mut findings = Findings::default();
    let root = At { parent: None, step: Step::Root };
    decode_struct(plan, plan.get(index), map, &root, fields, &mut findings);
    match findings.error {
        Some(error) => Err(error),
        None => Ok(findings.unknown),
    }
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
    map.retain(|name, value| {
        if fields.is_some_and(|fields| !fields.contains(name)) {
            return true;
        }
        let Some(field) = structure.field(name) else {
            if has_type && (name == "apiVersion" || name == "kind") {
                return true;
            }
            findings.unknown.push(at.child(name));
            return false;
        };
        if value.is_null() {
            return false;
        }
        let field_at = At { parent: Some(at), step: Step::Field(structure.name, &field.via, field.name) };
        decode_value(plan, &field.shape, value, &field_at, findings);
        matches!(field.zero, Zero::Always | Zero::Null) || !vanishes(field.zero, value)
    });
    for field in structure.always() {
        match map.get_mut(field.name) {
            None => {
                map.insert(field.name.to_owned(), plan.zero_of(field));
            }
            Some(value)
                if is_empty(value)
                    && !matches!(field.shape, Shape::Struct(_) | Shape::Scalar(Scalar::Object))
                    && (structure.name, field.name) != SHOWN_EMPTY =>
            {
                *value = plan.zero_of(field);
            }
            Some(_) => {}
        }
    }
}

/// Whether Go omits a value.
fn vanishes(zero: Zero, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => zero == Zero::Never && items.is_empty(),
        Value::String(text) => zero == Zero::Never && text.is_empty(),
        Value::Bool(flag) => zero == Zero::Never && !flag,
        Value::Number(number) => zero == Zero::Never && number.as_f64() == Some(0.0),
        Value::Object(map) => zero == Zero::Never && map.is_empty(),
    }
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
                    *item = plan.zero(inside);
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
        (Shape::Scalar(scalar), value) => {
            if let Err(wrong) = scalar::read(*scalar, value) {
                findings.error.get_or_insert_with(|| match wrong {
                    scalar::ScalarError::Type(found) => at.mismatch(&found, &plan.go_name(shape)),
                    scalar::ScalarError::Inner(found, expected) => at.mismatch(&found, expected),
                    scalar::ScalarError::Text(text) => text,
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
    fn child(&self, name: &str) -> String {
        let mut path = String::new();
        self.write(&mut path);
        if !path.is_empty() {
            path.push('.');
        }
        path + name
    }

    fn write(&self, path: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(path);
        }
        match self.step {
            Step::Root => {}
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
