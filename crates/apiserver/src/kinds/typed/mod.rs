//! Reads objects of built-in kinds as Go's decoder reads them into its structs, and leaves them as Go would write them.
//!
//! Names are told apart by case. Unknown fields go and are reported; a null is an absent field; zero values that Go does
//! not write go, those that it always writes come; times, quantities and base64 get their canonical form.

mod encoding;
mod plan;
mod scalar;
mod time;

use serde_json::{Map, Value};

use self::plan::{Plan, Shape, Struct, Zero, plan};
use super::Kind;
use crate::gotext::json_type;

/// Where the walk is, for texts.
#[derive(Clone, Copy)]
struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str, &'a str),
    Index(usize),
    Key(&'a str),
}

/// What a walk found.
#[derive(Debug, Default)]
struct Findings {
    /// Paths of fields that the type does not have.
    unknown: Vec<String>,
    /// The first thing that cannot be decoded.
    error: Option<String>,
}

/// Makes an object what Go would write after reading it. Gives the paths of unknown fields, which are gone.
///
/// # Errors
/// The words of Go's decoder for the first value of a wrong type.
pub(crate) fn decode(kind: &Kind, object: &mut Value) -> Result<Vec<String>, String> {
    decode_some(kind, object, None)
}

/// The same of these fields of the object alone, of which the others have been read before.
///
/// # Errors
/// As [`decode`].
pub(crate) fn decode_some(
    kind: &Kind,
    object: &mut Value,
    fields: Option<&[String]>,
) -> Result<Vec<String>, String> {
    let resource = &kind.resource;
    read_as((&resource.group, &resource.version, &resource.kind), object, fields)
}

/// The same for a type of a group and version that is no kind of its own, such as `Scale`.
///
/// # Errors
/// As [`decode`].
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
    structure(plan, plan.get(index), map, &root, fields, &mut findings);
    match findings.error {
        Some(error) => Err(error),
        None => Ok(findings.unknown),
    }
}

/// What a field of a kind is when nothing is said of it, if the kind has that field.
pub(crate) fn zero(kind: &Kind, field: &str) -> Option<Value> {
    let plan = plan();
    let resource = &kind.resource;
    let of = plan.get(plan.of_kind(&resource.group, &resource.version, &resource.kind)?);
    of.field(field).map(|field| plan.zero(&field.shape))
}

fn structure(
    plan: &Plan,
    of: &Struct,
    map: &mut Map<String, Value>,
    at: &At<'_>,
    fields: Option<&[String]>,
    findings: &mut Findings,
) {
    let is_root = matches!(at.step, Step::Root);
    map.retain(|name, value| {
        if fields.is_some_and(|fields| !fields.contains(name)) {
            return true;
        }
        let Some(field) = of.field(name) else {
            if is_root && (name == "apiVersion" || name == "kind") {
                return true;
            }
            findings.unknown.push(at.child(name));
            return false;
        };
        if value.is_null() {
            return false;
        }
        let here = At { parent: Some(at), step: Step::Field(of.name, field.name) };
        read(plan, &field.shape, value, &here, findings);
        field.zero == Zero::Always || !vanishes(field.zero, value)
    });
    for field in of.always() {
        match map.get_mut(field.name) {
            None => {
                map.insert(field.name.to_owned(), plan.zero(&field.shape));
            }
            Some(value) if is_empty(value) && !matches!(field.shape, Shape::Struct(_)) => {
                *value = plan.zero(&field.shape);
            }
            Some(_) => {}
        }
    }
}

/// Whether Go leaves a value out.
fn vanishes(zero: Zero, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
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

fn read(plan: &Plan, shape: &Shape, value: &mut Value, at: &At<'_>, findings: &mut Findings) {
    match (shape, value) {
        (Shape::Struct(index), Value::Object(map)) => {
            structure(plan, plan.get(*index), map, at, None, findings);
        }
        (Shape::List(inside), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                if item.is_null() {
                    *item = plan.zero(inside);
                } else {
                    read(plan, inside, item, &At { parent: Some(at), step: Step::Index(index) }, findings);
                }
            }
        }
        (Shape::Map(inside), Value::Object(map)) => {
            for (key, item) in map.iter_mut() {
                if item.is_null() {
                    *item = plan.zero(inside);
                } else {
                    read(plan, inside, item, &At { parent: Some(at), step: Step::Key(key) }, findings);
                }
            }
        }
        (Shape::Named(_), Value::String(_)) => {}
        (Shape::Scalar(scalar), value) => {
            if let Err(wrong) = scalar::read(*scalar, value) {
                findings.error.get_or_insert_with(|| match wrong {
                    scalar::Wrong::Type(is) => at.mismatch(&is, &plan.go_name(shape)),
                    scalar::Wrong::Text(text) => text,
                });
            }
        }
        (_, value) => {
            let is = json_type(value);
            findings.error.get_or_insert_with(|| at.mismatch(is, &plan.go_name(shape)));
        }
    }
}

impl At<'_> {
    /// The path of a field below this place, as strict decoding names it.
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
            Step::Field(_, name) | Step::Key(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
        }
    }

    /// Go's words for a value of a wrong type: the innermost struct, the fields that lead there, the type expected.
    fn mismatch(&self, is: &str, expected: &str) -> String {
        let (mut owner, mut fields) = ("", Vec::new());
        let mut at = Some(self);
        while let Some(here) = at {
            if let Step::Field(of, name) = here.step {
                if owner.is_empty() {
                    owner = of;
                }
                fields.push(name);
            }
            at = here.parent;
        }
        fields.reverse();
        let path = fields.join(".");
        format!("json: cannot unmarshal {is} into Go struct field {owner}.{path} of type {expected}")
    }
}

#[cfg(test)]
mod tests;
