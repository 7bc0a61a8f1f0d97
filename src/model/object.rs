//! A Kubernetes object as shared, immutable JSON.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use crate::base::clock::{Time, parse_rfc3339};

/// One object as it was at one moment. Cloning shares; changing means taking a copy of the JSON first.
#[derive(Debug, Clone, PartialEq)]
pub struct Object(Arc<Value>);

impl Object {
    /// Shares the JSON of an object.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(value))
    }

    /// An own copy of the JSON, to be changed.
    pub fn to_value(&self) -> Value {
        (*self.0).clone()
    }

    /// The shared JSON.
    pub fn shared(&self) -> &Arc<Value> {
        &self.0
    }

    /// Whether this is the very object that `other` shares: the same state, seen at no cost.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The value at a JSON pointer without escapes: keys with a slash in them have accessors of their own.
    fn at(&self, pointer: &str) -> Option<&Value> {
        pointer.split('/').skip(1).try_fold(&*self.0, |value, part| match value {
            Value::Object(fields) => fields.get(part),
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The text at a JSON pointer; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// The whole number at a JSON pointer.
    pub fn number(&self, pointer: &str) -> Option<i64> {
        self.at(pointer).and_then(Value::as_i64)
    }

    /// The moment at a JSON pointer, if a time stands there.
    pub fn time(&self, pointer: &str) -> Option<Time> {
        parse_rfc3339(self.text(pointer))
    }

    /// The list at a JSON pointer; empty where there is none.
    pub fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `metadata.generation`; 0 where the kind has none.
    pub fn generation(&self) -> i64 {
        self.number("/metadata/generation").unwrap_or(0)
    }

    /// `metadata.resourceVersion`.
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"].get(key).and_then(Value::as_str)
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["annotations"].get(key).and_then(Value::as_str)
    }

    /// Whether deletion was asked for but the object is still there.
    pub fn is_terminating(&self) -> bool {
        !self.text("/metadata/deletionTimestamp").is_empty()
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl From<Arc<Value>> for Object {
    fn from(value: Arc<Value>) -> Self {
        Self(value)
    }
}
