//! The object of a row: fields by JSON pointer, with words for missing values.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;

use super::ages;
use crate::selector;

/// The word for an absent value.
pub(super) const NONE: &str = "<none>";
/// The word for a value that was not set.
pub(super) const UNSET: &str = "<unset>";

/// The cells of a row, in the order of the columns.
pub(super) type Cells = Vec<Value>;

/// An object to print at a point in time.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Time,
    /// The x of Kubernetes 1.x.
    pub(super) minor: u32,
}

impl<'a> Row<'a> {
    /// A field by JSON pointer, unless it is absent or null.
    pub(super) fn get(&self, pointer: &str) -> Option<&'a Value> {
        self.object.pointer(pointer).filter(|value| !value.is_null())
    }

    /// A string; empty if it is missing.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.get(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// A string, or `missing` if it is empty.
    pub(super) fn text_or(&self, pointer: &str, missing: &'a str) -> &'a str {
        or(self.text(pointer), missing)
    }

    /// An integer; 0 if it is missing.
    pub(super) fn int(&self, pointer: &str) -> i64 {
        self.get(pointer).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn flag(&self, pointer: &str) -> bool {
        self.get(pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        self.get(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// The number of entries of a list or map.
    pub(super) fn count(&self, pointer: &str) -> usize {
        match self.get(pointer) {
            Some(Value::Array(items)) => items.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        }
    }

    pub(super) fn name(&self) -> Value {
        json!(self.text("/metadata/name"))
    }

    /// The name of a class, which is marked if one of these annotations makes it the default.
    pub(super) fn class_name(&self, annotations: &[&str]) -> Value {
        let name = self.text("/metadata/name");
        let is_default = annotations.iter().any(|pointer| self.text(pointer) == "true");
        if is_default { json!(format!("{name} (default)")) } else { json!(name) }
    }

    pub(super) fn is_terminating(&self) -> bool {
        self.get("/metadata/deletionTimestamp").is_some()
    }

    /// The time since the object was created.
    pub(super) fn age(&self) -> Value {
        json!(self.since("/metadata/creationTimestamp"))
    }

    /// The time since a timestamp.
    pub(super) fn since(&self, pointer: &str) -> String {
        ages::since(self.text(pointer), self.now)
    }

    /// Whether the condition of a type is `True`.
    pub(super) fn is_condition_true(&self, name: &str) -> bool {
        let mut conditions = self.list("/status/conditions").iter();
        conditions.any(|condition| condition["type"] == name && condition["status"] == "True")
    }

    /// Names and images of the containers of a pod template, each joined by commas.
    pub(super) fn containers(&self, pointer: &str) -> [Value; 2] {
        let containers = self.list(pointer);
        ["name", "image"]
            .map(|field| json!(joined(containers.iter().filter_map(|item| item[field].as_str()))))
    }

    /// A map of labels as a selector; `<none>` if it is empty.
    pub(super) fn labels(&self, pointer: &str) -> String {
        let labels = self.get(pointer).and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        or_owned(joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))))
    }

    /// A label selector as text; `<none>` if it is empty.
    pub(super) fn selector(&self, pointer: &str) -> String {
        self.get(pointer).map_or_else(|| NONE.to_owned(), |selector| or_owned(selector::text(selector)))
    }
}

/// Joins texts with commas.
pub(super) fn joined<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for text in texts {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(text.as_ref());
    }
    out
}

/// The first texts and the number of the others: `a,b,c + 2 more...`.
pub(super) fn shortened(texts: &[String], shown: usize, missing: &str) -> String {
    if texts.is_empty() {
        return missing.to_owned();
    }
    let first = texts.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(",");
    match texts.len().checked_sub(shown) {
        Some(more) if more > 0 => format!("{first} + {more} more..."),
        _ => first,
    }
}

pub(super) fn or<'a>(text: &'a str, missing: &'a str) -> &'a str {
    if text.is_empty() { missing } else { text }
}

pub(super) fn or_owned(text: String) -> String {
    if text.is_empty() { NONE.to_owned() } else { text }
}

/// A string or a number as text.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_shortened() {
        let texts: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(shortened(&texts, 3, NONE), "a,b,c + 2 more...");
        assert_eq!(shortened(&texts[..3], 3, NONE), "a,b,c");
        assert_eq!(shortened(&[], 3, NONE), "<none>");
    }
}
