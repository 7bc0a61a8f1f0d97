//! Lists and maps that clients give without elements.
//!
//! Go distinguishes them from absent ones until the object is stored. A decoded object has null in their place, or nothing.

use std::borrow::Cow;

use serde_json::Value;

/// A list or map that a client gave without elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Empty {
    /// The JSON pointer of its place.
    pub(crate) pointer: String,
    /// The value that the client gave.
    pub(crate) value: Value,
    /// Whether it belongs to a type that has tags for JSON also inside of a real server. Messages leave out its empty fields.
    pub(crate) is_tagged: bool,
}

impl Empty {
    /// Whether a decoded object has nothing or null in its place.
    pub(crate) fn is_hidden(&self, object: &Value) -> bool {
        object.pointer(&self.pointer).is_none_or(Value::is_null)
    }

    /// Puts it back into an object that has its parent.
    fn put_back(&self, object: &mut Value) {
        let Some((parent, name)) = self.pointer.rsplit_once('/') else { return };
        let name = name.replace("~1", "/").replace("~0", "~");
        if let Some(map) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            map.insert(name, self.value.clone());
        }
    }
}

/// The object with those empty lists and maps that `is_shown` selects.
pub(crate) fn with_empties<'a>(
    object: &'a Value,
    empties: &[Empty],
    is_shown: impl Fn(&Empty) -> bool,
) -> Cow<'a, Value> {
    let mut whole = Cow::Borrowed(object);
    for empty in empties.iter().filter(|empty| empty.is_hidden(object) && is_shown(empty)) {
        empty.put_back(whole.to_mut());
    }
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_values_return_to_their_places_unless_something_else_is_there() {
        let empty =
            |pointer: &str, value: Value| Empty { pointer: pointer.to_owned(), value, is_tagged: false };
        let empties = [
            empty("/spec/a", json!([])),
            empty("/spec/x~1y", json!({})),
            empty("/spec/taken", json!([])),
            empty("/gone/z", json!([])),
        ];
        let object = json!({ "spec": { "a": null, "taken": [1] } });
        let shown = with_empties(&object, &empties, |_| true);
        assert_eq!(*shown, json!({ "spec": { "a": [], "x/y": {}, "taken": [1] } }));
        assert_eq!(*with_empties(&object, &empties, |empty| empty.pointer == "/spec/taken"), object);
    }
}
