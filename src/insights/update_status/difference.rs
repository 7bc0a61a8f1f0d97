//! What changes from one status to another, as operations of a JSON patch: the status is large, and mostly one insight of it
//! is another.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// What elements of a list may be told apart by; the first that one has.
const KEYS: [&str; 3] = ["uid", "name", "type"];

/// Adds the operations that make `old` at a path `new`. Null is what is not there.
pub(in crate::insights) fn difference(path: &str, old: &Value, new: &Value, operations: &mut Vec<Value>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => of_members(path, old, new, operations),
        (Value::Array(were), Value::Array(are)) => match in_order(were, are) {
            Some(keys) => of_elements(path, were, are, &keys, operations),
            None => operations.push(json!({"op": "replace", "path": path, "value": new})),
        },
        (Value::Null, _) => operations.push(json!({"op": "add", "path": path, "value": new})),
        (_, Value::Null) => operations.push(json!({"op": "remove", "path": path})),
        _ if old == new => {}
        _ => operations.push(json!({"op": "replace", "path": path, "value": new})),
    }
}

fn of_members(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, operations: &mut Vec<Value>) {
    let below = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    for (name, was) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
        difference(&below(name), was, &Value::Null, operations);
    }
    for (name, is) in new {
        match old.get(name) {
            Some(was) if was == is => {}
            was => difference(&below(name), was.unwrap_or(&Value::Null), is, operations),
        }
    }
}

/// Takes out what is gone, then goes along the new list.
fn of_elements(path: &str, old: &[Value], new: &[Value], keys: &Keys<'_>, operations: &mut Vec<Value>) {
    let mut left: Vec<&Value> = Vec::new();
    for element in old {
        if key_of(element).is_some_and(|key| keys.contains(key)) {
            left.push(element);
        } else {
            operations.push(json!({"op": "remove", "path": format!("{path}/{}", left.len())}));
        }
    }
    let mut left = left.into_iter().peekable();
    for (place, element) in new.iter().enumerate() {
        let was = left.next_if(|was| key_of(was) == key_of(element));
        if was != Some(element) {
            difference(&format!("{path}/{place}"), was.unwrap_or(&Value::Null), element, operations);
        }
    }
}

type Keys<'a> = BTreeSet<&'a str>;

fn key_of(element: &Value) -> Option<&str> {
    KEYS.iter().find_map(|key| element.get(key)?.as_str())
}

/// The keys of the new elements, if those of both lists have keys, and those that stay follow each other as they did.
fn in_order<'a>(old: &[Value], new: &'a [Value]) -> Option<Keys<'a>> {
    let were = old.iter().map(key_of).collect::<Option<Keys<'_>>>()?;
    let are = new.iter().map(key_of).collect::<Option<Keys<'a>>>()?;
    let stayed = old.iter().filter_map(key_of).filter(|key| are.contains(key));
    let stay = new.iter().filter_map(key_of).filter(|key| were.contains(key));
    (were.len() == old.len() && are.len() == new.len() && stayed.eq(stay)).then_some(are)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(old: &Value, new: &Value) -> Vec<String> {
        let mut operations = Vec::new();
        difference("/status", old, new, &mut operations);
        let mut patched = json!({"status": old});
        let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(patched["status"], *new);
        let text = |one: &Value| format!("{} {}", one["op"].as_str().unwrap(), one["path"].as_str().unwrap());
        operations.iter().map(text).collect()
    }

    #[test]
    fn what_stays_is_not_written() {
        let insight = |uid: &str, text: &str| json!({"uid": uid, "health": {"text": text}});
        let status = |insights: &[Value]| json!({"informers": [{"name": "ni", "insights": insights}]});
        let (a, b, c) = (insight("a", "1"), insight("b", "1"), insight("c", "1"));
        let before = status(&[a.clone(), b.clone(), c.clone()]);
        assert!(paths(&before, &before).is_empty());
        let one = status(&[a.clone(), insight("b", "2"), c.clone()]);
        assert_eq!(paths(&before, &one), ["replace /status/informers/0/insights/1/health/text"]);
        let come_and_gone = status(&[b.clone(), insight("bb", "1"), c.clone(), insight("d", "1")]);
        let list = "/status/informers/0/insights";
        let operations = [format!("remove {list}/0"), format!("add {list}/1"), format!("add {list}/3")];
        assert_eq!(paths(&before, &come_and_gone), operations);
        assert_eq!(paths(&before, &status(&[c, b, a])), [format!("replace {list}")]);
    }

    #[test]
    fn members_come_and_go() {
        let before = json!({"a/b": 1, "c~": {"d": [1]}, "e": 1});
        let after = json!({"a/b": 2, "c~": {"d": [2]}, "f": []});
        let operations =
            ["remove /status/e", "replace /status/a~1b", "replace /status/c~0/d", "add /status/f"];
        assert_eq!(paths(&before, &after), operations);
        assert_eq!(paths(&json!(null), &after), ["add /status"]);
    }
}
