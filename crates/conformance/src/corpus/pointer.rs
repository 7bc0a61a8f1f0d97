//! Pointers into JSON. A part such as `type=Ready` selects the list element that has it.

use serde_json::{Value, json};

pub(crate) fn parts(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}

/// A name as a part of a pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The value at a pointer, or null.
pub fn find(value: &Value, pointer: &str) -> Value {
    let mut at = value;
    for part in parts(pointer) {
        let next = match (at, part.split_once('=')) {
            (Value::Array(items), Some((key, wanted))) => {
                let pointer = format!("/{}", key.replace('.', "/"));
                items.iter().find(|item| find(item, &pointer) == wanted)
            }
            (Value::Array(items), None) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
            (Value::Object(map), _) => map.get(&part),
            _ => None,
        };
        let Some(next) = next else { return Value::Null };
        at = next;
    }
    at.clone()
}

/// Removes what is at a pointer, in which `*` is every element. An element of a list becomes `<ignored>` if
/// `keep_length`.
pub(crate) fn remove_parts(value: &mut Value, path: &[String], keep_length: bool) {
    let Some((head, tail)) = path.split_first() else { return };
    match value {
        Value::Object(map) if head == "*" => {
            for inner in map.values_mut() {
                remove_parts(inner, tail, keep_length);
            }
        }
        Value::Array(items) if head == "*" => {
            for inner in items {
                remove_parts(inner, tail, keep_length);
            }
        }
        Value::Object(map) if tail.is_empty() => {
            map.remove(head);
        }
        Value::Object(map) => {
            if let Some(inner) = map.get_mut(head) {
                remove_parts(inner, tail, keep_length);
            }
        }
        Value::Array(items) => {
            let Some(index) = head.parse::<usize>().ok().filter(|index| *index < items.len()) else { return };
            match (tail.is_empty(), keep_length) {
                (false, _) => remove_parts(&mut items[index], tail, keep_length),
                (true, true) => items[index] = json!("<ignored>"),
                (true, false) => {
                    items.remove(index);
                }
            }
        }
        _ => {}
    }
}

/// Removes what is at a pointer.
pub fn remove(value: &mut Value, pointer: &str) {
    remove_parts(value, &parts(pointer), false);
}

/// Sets the value at a pointer. Missing objects on the way are created, and an index at the end of a list
/// appends.
pub fn set(value: &mut Value, pointer: &str, new: Value) {
    let mut at = value;
    for part in parts(pointer) {
        if at.is_null() {
            *at = json!({});
        }
        at = match at {
            Value::Object(map) => map.entry(part).or_insert(Value::Null),
            Value::Array(items) => {
                let Some(index) = part.parse::<usize>().ok().filter(|index| *index <= items.len()) else {
                    return;
                };
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            _ => return,
        };
    }
    *at = new;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_set_and_removed() {
        let mut value = json!({"a": [{"type": "x", "b": 1}, {"type": "y", "b": 2}]});
        assert_eq!(find(&value, "/a/type=y/b"), 2);
        assert_eq!(find(&value, "/a/7/b"), Value::Null);
        set(&mut value, "/a/2", json!(3));
        set(&mut value, "/c/d~1e", json!(4));
        remove(&mut value, "/a/0");
        assert_eq!(value, json!({"a": [{"type": "y", "b": 2}, 3], "c": {"d/e": 4}}));
    }
}
