//! Validates values against their shape, with the messages of `structured-merge-diff`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::element_of;
use crate::apply::shape::{Form, ListMerge, Member, Shape, Type};
use crate::field_set::element;
use crate::gotext;

/// A validation error with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValidationError(String);

impl ValidationError {
    pub(super) fn new(path: &str, why: impl std::fmt::Display) -> Self {
        Self(if path.is_empty() { why.to_string() } else { format!("{path}: {why}") })
    }

    /// Joins all errors to one text (`ValidationErrors`).
    pub(crate) fn text(errors: &[Self]) -> String {
        match errors {
            [only] => only.0.clone(),
            several => several.iter().fold("errors:".to_owned(), |text, error| text + "\n  " + &error.0),
        }
    }
}

/// Validates a value. With `repeats`, sets and maps may have duplicate elements.
///
/// # Errors
/// All errors of the value.
pub(crate) fn validate(value: &Value, shape: Shape<'_>, repeats: bool) -> Result<(), Vec<ValidationError>> {
    let mut errors = Vec::new();
    walk(value, shape, repeats, "", &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn walk(value: &Value, shape: Shape<'_>, repeats: bool, path: &str, errors: &mut Vec<ValidationError>) {
    if value.is_null() {
        return;
    }
    // Go prints the library's own wrapper of a value.
    let got = |what: &str| format!("expected {what}, got &{{{}}}", gotext::plain(value));
    match (shape.form(Some(value)), value) {
        (Form::Scalar(kind), value) => {
            errors.extend(scalar(kind, value).map(|why| ValidationError::new(path, why)));
        }
        (Form::List(merge, shape), Value::Array(items)) => {
            elements(items, merge, shape, repeats, path, errors);
        }
        (Form::List(..), _) => errors.push(ValidationError::new(path, got("list"))),
        (Form::Map { .. }, Value::Object(map)) => {
            for (name, value) in map {
                let path = format!("{path}.{name}");
                match shape.member(name) {
                    Member::Declared(shape) | Member::Key(shape) => {
                        walk(value, shape, repeats, &path, errors);
                    }
                    Member::Unknown => {
                        errors.push(ValidationError::new(&path, "field not declared in schema"));
                        return;
                    }
                }
            }
        }
        (Form::Map { .. }, _) => errors.push(ValidationError::new(path, got("map"))),
    }
}

fn scalar(kind: Type, value: &Value) -> Option<String> {
    let fits = match kind {
        Type::Numeric => value.is_number(),
        Type::String => value.is_string(),
        Type::Boolean => value.is_boolean(),
        Type::Untyped => value.is_number() || value.is_string() || value.is_boolean(),
    };
    let plain = || gotext::plain(value);
    (!fits).then(|| match kind {
        Type::Numeric => format!("expected numeric (int or float), got {}", gotext::type_name(value)),
        Type::String => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", gotext::syntax(value))
        }
        Type::Boolean => format!("expected boolean, got &{{{}}}", plain()),
        Type::Untyped => format!("expected any scalar, got &{{{}}}", plain()),
    })
}

fn elements(
    items: &[Value],
    merge: ListMerge<'_>,
    shape: Shape<'_>,
    repeats: bool,
    path: &str,
    errors: &mut Vec<ValidationError>,
) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let text = if matches!(merge, ListMerge::Atomic) {
            format!("[{index}]")
        } else {
            let element = match element_of(item, merge) {
                Ok(element) => element,
                Err(why) => {
                    errors.push(ValidationError::new(path, format!("element {index}: {why}")));
                    return;
                }
            };
            let text = element::text(&element);
            if !seen.insert(element) && !repeats {
                errors.push(ValidationError::new(path, format!("duplicate entries for key {text}")));
            }
            text
        };
        walk(item, shape, repeats, &format!("{path}{text}"), errors);
    }
}
