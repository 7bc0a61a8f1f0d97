//! Bodies as changes of a named one. They keep a corpus small, because most bodies resemble another.

use serde_json::{Map, Value, json};

use super::pointer::{escaped, find, remove, set};

/// Applies the members `set` (values by pointer) and `remove` (a list of pointers) of a request or a response to
/// its body.
pub fn edit(body: &mut Value, holder: &Value) {
    for (pointer, value) in holder["set"].as_object().into_iter().flatten() {
        set(body, pointer, value.clone());
    }
    for pointer in holder["remove"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        remove(body, pointer);
    }
}

/// The members `set` and `remove` that change one value to another.
pub fn difference(from: &Value, to: &Value) -> Map<String, Value> {
    let (mut sets, mut removes) = (Map::new(), Vec::new());
    collect(from, to, "", &mut sets, &mut removes);
    let mut members = Map::new();
    if !sets.is_empty() {
        members.insert("set".into(), Value::Object(sets));
    }
    if !removes.is_empty() {
        members.insert("remove".into(), json!(removes));
    }
    members
}

fn collect(from: &Value, to: &Value, path: &str, sets: &mut Map<String, Value>, removes: &mut Vec<String>) {
    match (from, to) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in b {
                let path = format!("{path}/{}", escaped(key));
                match a.get(key) {
                    Some(old) => collect(old, value, &path, sets, removes),
                    None => drop(sets.insert(path, value.clone())),
                }
            }
            let gone = a.keys().filter(|key| !b.contains_key(*key));
            removes.extend(gone.map(|key| format!("{path}/{}", escaped(key))));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (old, new)) in a.iter().zip(b).enumerate() {
                collect(old, new, &format!("{path}/{index}"), sets, removes);
            }
        }
        _ if from == to => {}
        _ => drop(sets.insert(path.to_owned(), to.clone())),
    }
}

/// The JSON merge patch that changes one value to another, as far as there is one.
pub(crate) fn merge_patch(from: &Value, to: &Value) -> Value {
    match (from, to) {
        (Value::Object(a), Value::Object(b)) => {
            let gone = a.keys().filter(|key| !b.contains_key(*key)).map(|key| (key.clone(), Value::Null));
            let changed = b.iter().filter(|(key, value)| a.get(*key) != Some(*value));
            let changed = changed.map(|(key, value)| {
                (key.clone(), merge_patch(&a.get(key).cloned().unwrap_or_default(), value))
            });
            Value::Object(gone.chain(changed).collect())
        }
        _ => to.clone(),
    }
}

/// The operations of a JSON patch that do what `set` and `remove` do to a body.
pub(crate) fn json_patch(body: &Value, holder: &Value) -> Value {
    let sets = holder["set"].as_object().into_iter().flatten().map(|(pointer, value)| {
        let last_is_index = pointer.rsplit('/').next().is_some_and(|part| part.parse::<usize>().is_ok());
        let op = if last_is_index && !find(body, pointer).is_null() { "replace" } else { "add" };
        json!({"op": op, "path": pointer, "value": value})
    });
    let removes = holder["remove"].as_array().into_iter().flatten();
    let removes = removes.map(|pointer| json!({"op": "remove", "path": pointer}));
    sets.chain(removes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_leads_from_one_value_to_the_other() {
        let from = json!({"a": 1, "b": [1, {"c/d": 2}], "e": [1], "f": null});
        let to = json!({"b": [1, {"c/d": 3, "g": {}}], "e": [1, 2], "f": {}});
        let holder = Value::Object(difference(&from, &to));
        assert_eq!(holder["remove"], json!(["/a"]));
        let mut body = from.clone();
        edit(&mut body, &holder);
        assert_eq!(body, to);
    }

    #[test]
    fn a_merge_patch_has_only_the_changes() {
        let patch = merge_patch(&json!({"a": 1, "b": {"c": 1, "d": 2}}), &json!({"b": {"c": 1, "d": 3}}));
        assert_eq!(patch, json!({"a": null, "b": {"d": 3}}));
    }
}
