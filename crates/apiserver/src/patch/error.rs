//! Why an operation of a JSON patch does not apply, with the messages of `evanphx/json-patch` 4.

use json_patch::PatchOperation;
use json_patch::jsonptr::PointerBuf;
use serde_json::Value;

/// Why a JSON patch does not apply to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchError {
    /// A `test` operation found another value.
    TestFailed(String),
    /// An operation does not apply.
    Other(String),
}

impl PatchError {
    /// The message.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::TestFailed(text) | Self::Other(text) => text,
        }
    }
}

/// Why an operation does not apply to an object.
pub(super) fn of(operation: &PatchOperation, object: &Value) -> PatchError {
    let text = match operation {
        PatchOperation::Add(add) => at(&add.path, object, "add"),
        PatchOperation::Remove(remove) => at(&remove.path, object, "remove"),
        PatchOperation::Replace(replace) => {
            let lacks = if container(&replace.path, object).is_some() { "key" } else { "path" };
            format!(
                "replace operation does not apply: doc is missing {lacks}: {}: missing value",
                replace.path
            )
        }
        PatchOperation::Move(moved) => between(&moved.from, &moved.path, object, "move"),
        PatchOperation::Copy(copy) => between(&copy.from, &copy.path, object, "copy"),
        PatchOperation::Test(test) => return of_test(&test.path, object),
    };
    PatchError::Other(text)
}

fn of_test(path: &PointerBuf, object: &Value) -> PatchError {
    match container(path, object) {
        None if !path.is_root() => PatchError::Other(format!(
            "test operation does not apply: is missing path: {path}: missing value"
        )),
        Some(Value::Array(items)) if wrong_index(items, &key(path), false).is_some() => {
            let why = wrong_index(items, &key(path), false).unwrap_or_default();
            PatchError::Other(format!("error in test for path: '{path}': {why}"))
        }
        _ => PatchError::TestFailed(format!("testing value {path} failed: test failed")),
    }
}

/// Why a value cannot be added or removed at a path.
fn at(path: &PointerBuf, object: &Value, operation: &str) -> String {
    let Some(container) = container(path, object) else {
        return format!(
            "{operation} operation does not apply: doc is missing path: \"{path}\": missing value"
        );
    };
    format!(
        "error in {operation} for path: '{path}': {}",
        in_container(container, &key(path), operation == "add")
    )
}

/// Why a value cannot be moved or copied.
fn between(from: &PointerBuf, path: &PointerBuf, object: &Value, operation: &str) -> String {
    let lacks = |what: &str, path: &PointerBuf| {
        format!("{operation} operation does not apply: doc is missing {what}: {path}: missing value")
    };
    let Some(source) = container(from, object) else { return lacks("from path", from) };
    if from.resolve(object).is_err() {
        let why = in_container(source, &key(from), false);
        return match operation {
            "move" => format!("error in move for path: '{}': {why}", key(from)),
            _ => format!("error in copy for from: '{from}': {why}"),
        };
    }
    let Some(target) = container(path, object) else { return lacks("destination path", path) };
    let why = in_container(target, &key(path), true);
    match operation {
        "move" => format!("error in move for path: '{path}': {why}"),
        _ => format!("error while adding value during copy: {why}"),
    }
}

fn in_container(container: &Value, key: &str, adds: bool) -> String {
    let wrong = container.as_array().and_then(|items| wrong_index(items, key, adds));
    wrong.unwrap_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value"))
}

/// Why a key is no index of a list, or of the element after its last if `adds`.
fn wrong_index(items: &[Value], key: &str, adds: bool) -> Option<String> {
    let Ok(index) = key.parse::<usize>() else {
        let why = format!("strconv.Atoi: parsing \"{key}\": invalid syntax");
        return Some(if adds { format!("value was not a proper array index: '{key}': {why}") } else { why });
    };
    let is_beyond = index >= items.len() + usize::from(adds);
    is_beyond.then(|| format!("Unable to access invalid index: {index}: invalid index referenced"))
}

/// The object or list that has, or would have, the value at a path.
fn container<'v>(path: &PointerBuf, object: &'v Value) -> Option<&'v Value> {
    path.parent()?.resolve(object).ok().filter(|parent| parent.is_object() || parent.is_array())
}

fn key(path: &PointerBuf) -> String {
    path.last().map(|last| last.decoded().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(operation: Value, expected: &str) {
        let object = json!({ "a": { "b": "1" }, "l": ["x"] });
        let operation: PatchOperation = serde_json::from_value(operation).unwrap();
        assert_eq!(of(&operation, &object).text(), expected);
    }

    #[test]
    fn faults_name_the_path_or_the_index() {
        for (operation, expected) in [
            (
                json!({ "op": "add", "path": "/no/x", "value": 1 }),
                "add operation does not apply: doc is missing path: \"/no/x\": missing value",
            ),
            (
                json!({ "op": "add", "path": "/l/7", "value": 1 }),
                "error in add for path: '/l/7': Unable to access invalid index: 7: invalid index referenced",
            ),
            (
                json!({ "op": "remove", "path": "/a/x" }),
                "error in remove for path: '/a/x': Unable to remove nonexistent key: x: missing value",
            ),
            (
                json!({ "op": "replace", "path": "/l/x", "value": 1 }),
                "replace operation does not apply: doc is missing key: /l/x: missing value",
            ),
            (
                json!({ "op": "move", "from": "/no/x", "path": "/a/x" }),
                "move operation does not apply: doc is missing from path: /no/x: missing value",
            ),
            (
                json!({ "op": "test", "path": "/no/x", "value": 1 }),
                "test operation does not apply: is missing path: /no/x: missing value",
            ),
        ] {
            check(operation, expected);
        }
    }

    #[test]
    fn a_test_of_an_absent_or_another_value_fails() {
        for path in ["/a/b", "/a/x", ""] {
            let operation = json!({ "op": "test", "path": path, "value": 2 });
            let operation: PatchOperation = serde_json::from_value(operation).unwrap();
            let fault = of(&operation, &json!({ "a": { "b": "1" } }));
            assert_eq!(fault, PatchError::TestFailed(format!("testing value {path} failed: test failed")));
        }
    }
}
