//! Converts JSON to CEL values by its declaration (`UnstructuredToVal`), and back.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value as Json;

use super::decl::{Decl, Shape};
use super::escape::{escape, from_base64, to_base64, unescape};
use super::time;
use super::value::opaque::Opaque;
use super::value::quantity::CelQuantity;
use super::value::{EvalError, Key, List, Map, Outcome, Value};
use crate::gotext;

/// Converts JSON by its declaration; without one, by the type of the JSON.
pub(crate) fn from_json<'a>(json: &'a Json, decl: Option<&'a Decl>) -> Outcome<'a> {
    let Some(decl) = decl else { return Ok(untyped(json)) };
    match (&decl.shape, json) {
        (Shape::Any, _) => Ok(untyped(json)),
        (_, Json::Null) if decl.nullable => Ok(Value::Null),
        (_, Json::Null) => Err(EvalError::new("invalid data, got null for schema with nullable=false")),
        (Shape::IntOrString, Json::String(text)) => Ok(Value::String(Cow::Borrowed(text))),
        (Shape::Object(_) | Shape::Map { .. }, Json::Object(map)) => {
            Ok(Value::Map(Map::Json(map, Some(decl))))
        }
        (Shape::List { .. }, Json::Array(items)) => Ok(Value::List(List::Json(items, Some(decl)))),
        (Shape::Bool, Json::Bool(flag)) => Ok(Value::Bool(*flag)),
        (Shape::Int | Shape::IntOrString, Json::Number(number)) if number.is_i64() => {
            Ok(Value::Int(number.as_i64().unwrap_or_default()))
        }
        (Shape::Double, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or_default())),
        (_, Json::String(text)) => read_text(text, &decl.shape),
        (_, other) => Err(wrong(&decl.shape, other)),
    }
}

fn read_text<'a>(text: &'a str, shape: &Shape) -> Outcome<'a> {
    match shape {
        Shape::String => Ok(Value::String(Cow::Borrowed(text))),
        Shape::Quantity => CelQuantity::parse(text)
            .map(|found| Value::opaque(Opaque::Quantity(found)))
            .ok_or_else(|| EvalError::new(format!("Invalid quantity {text}"))),
        Shape::Bytes => from_base64(text)
            .map(|bytes| Value::Bytes(bytes.into()))
            .ok_or_else(|| EvalError::new(format!("Invalid byte formatted string {text}"))),
        Shape::Duration => time::parse_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| EvalError::new(format!("Invalid duration {text}"))),
        Shape::Date => time::parse_date(text)
            .map(Value::Timestamp)
            .ok_or_else(|| EvalError::new(format!("Invalid date formatted string {text}"))),
        Shape::DateTime => time::parse_timestamp(text)
            .map(Value::Timestamp)
            .ok_or_else(|| EvalError::new(format!("Invalid date-time formatted string {text}"))),
        other => Err(wrong(other, &Json::String(String::new()))),
    }
}

fn wrong(shape: &Shape, found: &Json) -> EvalError {
    let go = match found {
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::Object(_) => "map[string]interface {}",
        Json::Array(_) => "[]interface {}",
        other => gotext::json_type(other),
    };
    EvalError::new(match shape {
        Shape::IntOrString => {
            "invalid data, expected XIntOrString value to be either a string or integer".to_owned()
        }
        Shape::Object(_) | Shape::Map { .. } => {
            "invalid data, expected a map for the provided schema with type=object".to_owned()
        }
        Shape::List { .. } => {
            "invalid data, expected an array for the provided schema with type=array".to_owned()
        }
        Shape::Bool => format!("invalid data, expected bool, got {go}"),
        Shape::Int => format!("invalid data, expected int, got {go}"),
        Shape::Double => format!("invalid data, expected float, got {go}"),
        _ => format!("invalid data, expected string, got {go}"),
    })
}

fn untyped(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Double(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::String(Cow::Borrowed(text)),
        Json::Array(items) => Value::List(List::Json(items, None)),
        Json::Object(map) => Value::Map(Map::Json(map, None)),
    }
}

/// Converts a value to JSON.
pub(crate) fn to_json(value: &Value<'_>) -> Result<Json, EvalError> {
    Ok(match value {
        Value::Null | Value::Optional(None) => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Uint(number) => Json::from(*number),
        Value::Double(number) => Json::from(*number),
        Value::String(text) => Json::String(text.to_string()),
        Value::Bytes(found) => Json::String(to_base64(found)),
        Value::Timestamp(found) => Json::String(time::show_timestamp(*found)),
        Value::Duration(found) => Json::String(time::show_duration(*found)),
        Value::List(List::Json(items, _)) => Json::Array(items.to_vec()),
        Value::List(List::Made(items, _)) => {
            Json::Array(items.iter().map(to_json).collect::<Result<Vec<_>, _>>()?)
        }
        Value::Map(Map::Json(map, _)) => Json::Object((*map).clone()),
        Value::Map(Map::Made(map)) => {
            let mut object = serde_json::Map::new();
            for (key, value) in map.iter() {
                let Key::String(key) = key else {
                    return Err(EvalError::new("unsupported key type: must be a string"));
                };
                object.insert(key.clone(), to_json(value)?);
            }
            Json::Object(object)
        }
        Value::Optional(Some(inner)) => to_json(inner)?,
        other => return Err(EvalError::new(format!("type '{}' has no JSON form", other.type_name()))),
    })
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Made(items, _) => items.len(),
        }
    }

    /// The declaration of the list, which determines equality and the type of its elements.
    pub(crate) fn decl(&self) -> Option<&'a Decl> {
        match self {
            Self::Json(_, decl) | Self::Made(_, decl) => *decl,
        }
    }

    /// Returns an element; `None` beyond the end.
    pub(crate) fn get(&self, index: usize) -> Option<Outcome<'a>> {
        match self {
            Self::Json(items, decl) => {
                let element = decl.and_then(Decl::element).map(AsRef::as_ref);
                items.get(index).map(|item| from_json(item, element))
            }
            Self::Made(items, _) => items.get(index).cloned().map(Ok),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn values(&self) -> Result<Rc<Vec<Value<'a>>>, EvalError> {
        match self {
            Self::Made(items, _) => Ok(Rc::clone(items)),
            Self::Json(..) => Ok(Rc::new(self.iter().collect::<Result<_, _>>()?)),
        }
    }
}

impl<'a> Map<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(map, _) => map.len(),
            Self::Made(map) => map.len(),
        }
    }

    /// Returns the value of a field, given its escaped name, or of a text key.
    pub(crate) fn field(&self, name: &str) -> Option<Outcome<'a>> {
        match self {
            Self::Json(map, Some(decl)) => match &decl.shape {
                Shape::Object(fields) => {
                    // A null field of an object counts as absent.
                    let found = map.get(&*unescape(name)?).filter(|found| !found.is_null())?;
                    Some(from_json(found, Some(fields.get(name)?)))
                }
                _ => map.get(name).map(|found| from_json(found, decl.element().map(AsRef::as_ref))),
            },
            Self::Json(map, None) => map.get(name).map(|found| from_json(found, None)),
            Self::Made(map) => map.get(&Key::String(name.to_owned())).cloned().map(Ok),
        }
    }

    /// Returns the value of a key of any type.
    pub(crate) fn get(&self, key: &Value<'_>) -> Option<Outcome<'a>> {
        match (self, key) {
            (_, Value::String(name)) => self.field(name),
            (Self::Made(map), key) => {
                let found = map.get(&key.as_key()?);
                // Equal numbers of different types are the same key.
                let found = found.or_else(|| match key {
                    Value::Int(number) => map.get(&Key::Uint(u64::try_from(*number).ok()?)),
                    Value::Uint(number) => map.get(&Key::Int(i64::try_from(*number).ok()?)),
                    _ => None,
                });
                found.cloned().map(Ok)
            }
            _ => None,
        }
    }

    /// All keys; of an object, the escaped names of the fields that are present.
    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Json(map, Some(decl)) if matches!(decl.shape, Shape::Object(_)) => {
                map.keys().filter_map(|key| escape(key)).map(Value::String).collect()
            }
            Self::Json(map, _) => map.keys().map(|key| Value::String(Cow::Borrowed(key.as_str()))).collect(),
            Self::Made(map) => map.keys().map(Key::value).collect(),
        }
    }
}
