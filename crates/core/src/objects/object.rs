//! A Kubernetes object as shared, immutable JSON.

use std::ops::{Deref, Index};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::changed::Delta;
use crate::clock::{Time, parse_rfc3339};

/// Maps of at most this size are searched linearly. It is the capacity of one node of a
/// [`BTreeMap`](std::collections::BTreeMap), so the entries are adjacent in memory.
const FEW: usize = 11;

/// Looks up a member of a map. Most maps of objects are small and their names differ in length, so a linear
/// search is faster than an ordered one.
pub fn member<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if fields.len() > FEW {
        return fields.get(name);
    }
    fields.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

/// Splits a JSON pointer. The parts are short, so a bytewise search for slashes is faster than a vectorized
/// one.
fn parts(pointer: &str) -> impl Iterator<Item = &str> {
    let mut rest = pointer.strip_prefix('/');
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = text.bytes().position(|byte| byte == b'/') else { return Some(text) };
        rest = Some(&text[end + 1..]);
        Some(&text[..end])
    })
}

/// The string under this name; empty if there is none.
pub fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.as_object().and_then(|fields| member(fields, name)).and_then(Value::as_str).unwrap_or_default()
}

/// `metadata.name`; empty if there is none.
pub fn name_of(object: &Value) -> &str {
    text_at(object, "/metadata/name")
}

/// The value at a JSON pointer without escapes.
fn value_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    parts(pointer).try_fold(value, |value, part| match value {
        Value::Object(fields) => member(fields, part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The string at a JSON pointer; empty if there is none.
pub(super) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value_at(value, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty if there is none.
pub(super) fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value_at(value, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether the value at a JSON pointer is `true`.
pub(super) fn is_set_at(value: &Value, pointer: &str) -> bool {
    value_at(value, pointer).is_some_and(|value| *value == true)
}

/// The state of an object at one time. Clones share it; to change it, copy the JSON first.
#[derive(Debug, Clone)]
pub struct Object(Form);

#[derive(Debug, Clone)]
enum Form {
    Whole(Arc<Value>),
    Changed(Arc<Delta>),
}

impl Object {
    /// Creates an object from its JSON.
    pub fn new(value: Value) -> Self {
        Self(Form::Whole(Arc::new(value)))
    }

    /// The object after a merge patch. It stores only the patch, which takes little memory until its JSON is
    /// accessed. `None` if the chain of patches would get too long; then create the object from its complete
    /// JSON.
    pub fn with_patch(&self, patch: &Value) -> Option<Self> {
        Some(Self(Form::Changed(Arc::new(Delta::from_patch(self, patch)?))))
    }

    /// The merge patch from `before` to this state, if the object is stored as that patch.
    pub fn patch_since(&self, before: &Self) -> Option<Value> {
        self.changed()?.patch_of(before)
    }

    /// Whether the object is stored as a patch on an earlier state.
    pub fn is_delta(&self) -> bool {
        self.changed().is_some()
    }

    /// The stored patch; `None` if the object is stored completely.
    pub(super) fn changed(&self) -> Option<&Delta> {
        match &self.0 {
            Form::Whole(_) => None,
            Form::Changed(changed) => Some(changed),
        }
    }

    /// A copy of the JSON, for modification.
    pub fn to_value(&self) -> Value {
        (**self).clone()
    }

    /// Whether both share the same state. Compares pointers only, so it is cheap; equal states may be
    /// distinct.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Whole(one), Form::Whole(other)) => Arc::ptr_eq(one, other),
            (Form::Changed(one), Form::Changed(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The value at a JSON pointer without escapes. Labels and annotations, whose keys contain slashes, have
    /// their own accessors.
    fn at(&self, pointer: &str) -> Option<&Value> {
        value_at(self, pointer)
    }

    /// The string at a JSON pointer; empty if there is none.
    pub fn text(&self, pointer: &str) -> &str {
        text_at(self, pointer)
    }

    /// The integer at a JSON pointer.
    pub fn number(&self, pointer: &str) -> Option<i64> {
        self.at(pointer).and_then(Value::as_i64)
    }

    /// The time at a JSON pointer, if there is a valid one.
    pub fn time(&self, pointer: &str) -> Option<Time> {
        parse_rfc3339(self.text(pointer))
    }

    /// The list at a JSON pointer; empty if there is none.
    pub fn list(&self, pointer: &str) -> &[Value] {
        list_at(self, pointer)
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        name_of(self)
    }

    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `metadata.generation`; 0 if the kind has none.
    pub fn generation(&self) -> i64 {
        self.number("/metadata/generation").unwrap_or(0)
    }

    /// `metadata.resourceVersion`.
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        member(self.at("/metadata/labels")?.as_object()?, key)?.as_str()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        member(self.at("/metadata/annotations")?.as_object()?, key)?.as_str()
    }

    /// `status.conditions`; empty if there are none.
    pub fn conditions(&self) -> &[Value] {
        self.list("/status/conditions")
    }

    /// Whether the object has a `deletionTimestamp`.
    pub fn is_terminating(&self) -> bool {
        !self.text("/metadata/deletionTimestamp").is_empty()
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        match &self.0 {
            Form::Whole(whole) => whole,
            Form::Changed(changed) => changed.whole(),
        }
    }
}

/// The member of this name, or null. The same as indexing the JSON, but faster on small maps.
impl Index<&str> for Object {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.as_object().and_then(|fields| member(fields, name)).unwrap_or(&Value::Null)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl From<Arc<Value>> for Object {
    fn from(value: Arc<Value>) -> Self {
        Self(Form::Whole(value))
    }
}
