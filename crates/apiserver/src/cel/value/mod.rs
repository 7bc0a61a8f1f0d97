//! Values of expressions. JSON is borrowed, and converted only where an expression reads it.

pub(crate) mod authorization;
pub(crate) mod cidr;
pub(crate) mod opaque;
pub(crate) mod quantity;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use jiff::Timestamp;
use serde_json::{Map as JsonMap, Value as Json};

use self::authorization::AuthorizationCheck;
use self::opaque::Opaque;
use super::decl::Decl;

#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Cow<'a, str>),
    Bytes(Rc<[u8]>),
    Timestamp(Timestamp),
    /// In nanoseconds.
    Duration(i64),
    List(List<'a>),
    Map(Map<'a>),
    /// A type, by name.
    Type(Cow<'a, str>),
    Optional(Option<Rc<Value<'a>>>),
    Opaque(Rc<Opaque>),
    /// An authorization check that the expression builds.
    AuthorizationCheck(Rc<AuthorizationCheck<'a>>),
}

#[derive(Debug, Clone)]
pub(crate) enum List<'a> {
    Json(&'a [Json], Option<&'a Decl>),
    /// Built by an expression. The declaration is that of the list that it extends, and determines equality.
    Made(Rc<Vec<Value<'a>>>, Option<&'a Decl>),
}

#[derive(Debug, Clone)]
pub(crate) enum Map<'a> {
    Json(&'a JsonMap<String, Json>, Option<&'a Decl>),
    Made(Rc<BTreeMap<Key, Value<'a>>>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(String),
}

/// The reason why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EvalError {
    /// An error, which `&&` and `||` may override.
    Error(String),
    /// The expression exceeded its cost limit.
    Cost,
}

/// The value of an expression, or the reason why it has none.
pub(crate) type Outcome<'a> = Result<Value<'a>, EvalError>;

impl EvalError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }

    pub(crate) fn no_overload() -> Self {
        Self::new("no such overload")
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Error(text) => text,
            Self::Cost => "operation cancelled: actual cost limit exceeded",
        }
    }
}

impl Value<'_> {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::String(Cow::Owned(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(Rc::new(items), None))
    }

    pub(crate) fn some(inner: Self) -> Self {
        Self::Optional(Some(Rc::new(inner)))
    }

    pub(crate) fn opaque(inner: Opaque) -> Self {
        Self::Opaque(Rc::new(inner))
    }

    /// The name of the value's type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(Map::Json(_, Some(decl))) if matches!(decl.shape, super::decl::Shape::Object(_)) => {
                "object"
            }
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => super::types::OPTIONAL,
            Self::Opaque(opaque) => opaque.type_name(),
            Self::AuthorizationCheck(inquiry) => inquiry.type_name(),
        }
    }

    /// The result of `size()`, if the value has a size.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::String(text) if text.is_ascii() => Some(text.len()),
            Self::String(text) => Some(text.chars().count()),
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::List(list) => Some(list.len()),
            Self::Map(map) => Some(map.len()),
            Self::Opaque(opaque) => opaque.size(),
            _ => None,
        }
    }

    pub(crate) fn as_key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(flag) => Key::Bool(*flag),
            Self::Int(number) => Key::Int(*number),
            Self::Uint(number) => Key::Uint(*number),
            Self::String(text) => Key::String(text.to_string()),
            _ => return None,
        })
    }
}

impl Key {
    pub(crate) fn value<'a>(&self) -> Value<'a> {
        match self {
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(number) => Value::Int(*number),
            Self::Uint(number) => Value::Uint(*number),
            Self::String(text) => Value::text(text.clone()),
        }
    }
}
