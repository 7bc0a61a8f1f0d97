//! A Kubernetes object as shared, immutable JSON.

use std::ops::{Deref, Index};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::changed::Changed;
use crate::clock::{Time, parse_rfc3339};

/// The most members of a map that are gone through one by one: those of one node of a [`BTreeMap`](std::collections::BTreeMap),
/// which lie side by side.
const FEW: usize = 11;

/// The member of a map that has this name. Most maps of objects have few members, and of these the lengths of their names tell
/// nearly all apart: that is quicker than to search them by order.
pub fn member<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if fields.len() > FEW {
        return fields.get(name);
    }
    fields.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

/// The parts of a JSON pointer. They are short: to look for slashes byte by byte is quicker than a search for long texts.
fn parts(pointer: &str) -> impl Iterator<Item = &str> {
    let mut rest = pointer.strip_prefix('/');
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = text.bytes().position(|byte| byte == b'/') else { return Some(text) };
        rest = Some(&text[end + 1..]);
        Some(&text[..end])
    })
}

/// The text that a map has under a name; empty where there is none.
pub fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.as_object().and_then(|fields| member(fields, name)).and_then(Value::as_str).unwrap_or_default()
}

/// One object as it was at one moment. Cloning shares; changing means taking a copy of the JSON first.
#[derive(Debug, Clone)]
pub struct Object(Form);

#[derive(Debug, Clone)]
enum Form {
    Whole(Arc<Value>),
    Changed(Arc<Changed>),
}

impl Object {
    /// Shares the JSON of an object.
    pub fn new(value: Value) -> Self {
        Self(Form::Whole(Arc::new(value)))
    }

    /// The same object after a change, told by the merge patch alone: it takes little memory until somebody looks at it. `None`
    /// where it is better told as a whole, since too many changes lead to it.
    pub fn becomes(&self, patch: &Value) -> Option<Self> {
        Some(Self(Form::Changed(Arc::new(Changed::of(self, patch)?))))
    }

    /// The merge patch that made it of `before`, if it is told by that.
    pub fn patch_since(&self, before: &Self) -> Option<Value> {
        self.changed()?.patch_of(before)
    }

    /// Whether it is told by what changed.
    pub fn is_told_by_a_change(&self) -> bool {
        self.changed().is_some()
    }

    /// What it is told by, unless that is the whole.
    pub(super) fn changed(&self) -> Option<&Changed> {
        match &self.0 {
            Form::Whole(_) => None,
            Form::Changed(changed) => Some(changed),
        }
    }

    /// An own copy of the JSON, to be changed.
    pub fn to_value(&self) -> Value {
        (**self).clone()
    }

    /// Whether this is the very object that `other` shares: the same state, seen at no cost.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Whole(one), Form::Whole(other)) => Arc::ptr_eq(one, other),
            (Form::Changed(one), Form::Changed(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The value at a JSON pointer without escapes: keys with a slash in them have accessors of their own.
    fn at(&self, pointer: &str) -> Option<&Value> {
        parts(pointer).try_fold(&**self, |value, part| match value {
            Value::Object(fields) => member(fields, part),
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
        member(self.at("/metadata/labels")?.as_object()?, key)?.as_str()
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        member(self.at("/metadata/annotations")?.as_object()?, key)?.as_str()
    }

    /// Whether deletion was asked for but the object is still there.
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

/// What stands under a name; null where nothing does. As that of the JSON itself, and quicker where there is little to search.
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
