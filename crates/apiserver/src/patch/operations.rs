//! The operations of a JSON patch (RFC 6902), as `evanphx/json-patch` 4 applies them where it differs from the RFC.

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

use super::error::{self, PatchError};
use super::{cannot_unmarshal, wrong_type};
use crate::rejection::{BoxedRejection, Outcome};

/// The largest number of operations in one patch.
const OPERATIONS_MAX: usize = 10_000;
/// The most bytes that the `copy` operations of one patch may add (`jsonpatch.AccumulatedCopySizeLimit`, which a real
/// server sets to its limit for bodies).
const COPIED_MAX: usize = 3 * 1024 * 1024;
/// The deepest nesting of values that a patch may create. The JSON parser limits bodies to 127 levels, but operations could
/// nest deeper, until recursive functions overflow the stack.
const DEPTH_MAX: usize = 256;

/// Applies a patch to an object.
pub(crate) fn apply(patch: &Value, old: &Value) -> Outcome<Value> {
    let operations = match patch {
        // Go decodes null to a list without elements.
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => return Err(wrong_type(other, "[]handlers.jsonPatchOp")),
    };
    // Go decodes a null to an operation without members, which it then rejects as one of no known kind.
    if let Some(wrong) = operations.iter().find(|operation| !operation.is_object() && !operation.is_null()) {
        return Err(wrong_type(wrong, "handlers.jsonPatchOp"));
    }
    let count = operations.len();
    if count > OPERATIONS_MAX {
        return Err(BoxedRejection::too_large(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}"
        )));
    }
    let patch: Value = operations.iter().map(|operation| complete(operation.clone())).collect();
    let Patch(operations) = serde_json::from_value(patch).map_err(|_| BoxedRejection::unprocessable())?;
    apply_each(operations, old).map_err(|_| BoxedRejection::unprocessable())
}

/// Applies the operations of a patch of the server's own: a webhook's or a policy's.
///
/// # Errors
/// Why the first operation that does not apply does not.
pub(crate) fn apply_own(patch: &Value, old: &Value) -> Result<Value, PatchError> {
    let operations = match patch {
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => return Err(PatchError::Other(cannot_unmarshal(other, "jsonpatch.Patch"))),
    };
    let patch: Value = operations.iter().map(|operation| complete(operation.clone())).collect();
    let Patch(operations) =
        serde_json::from_value(patch).map_err(|error| PatchError::Other(error.to_string()))?;
    apply_each(operations, old)
}

fn apply_each(operations: Vec<PatchOperation>, old: &Value) -> Result<Value, PatchError> {
    let mut object = old.clone();
    let mut copied = 0;
    for operation in operations {
        let operation = add_if_missing(operation, &object);
        copied += check_growth(&operation, &object)?;
        if copied > COPIED_MAX {
            return Err(PatchError::Other(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                 {COPIED_MAX}"
            )));
        }
        if changes_root(&operation)
            || json_patch::patch(&mut object, std::slice::from_ref(&operation)).is_err()
        {
            return Err(error::of(&operation, &object));
        }
    }
    Ok(object)
}

/// Adds a null to an operation that lacks the value that it needs.
fn complete(mut operation: Value) -> Value {
    if matches!(operation["op"].as_str(), Some("add" | "replace" | "test"))
        && let Some(members) = operation.as_object_mut()
    {
        members.entry("value").or_insert(Value::Null);
    }
    operation
}

/// Whether an operation adds, removes, moves or copies the whole object, which `findObject` does not find.
fn changes_root(operation: &PatchOperation) -> bool {
    match operation {
        PatchOperation::Add(add) => add.path.is_root(),
        PatchOperation::Remove(remove) => remove.path.is_root(),
        PatchOperation::Move(moved) => moved.path.is_root() || moved.from.is_root(),
        PatchOperation::Copy(copy) => copy.path.is_root() || copy.from.is_root(),
        PatchOperation::Replace(_) | PatchOperation::Test(_) => false,
    }
}

/// Turns a `replace` of a missing member into an `add`.
fn add_if_missing(operation: PatchOperation, object: &Value) -> PatchOperation {
    let PatchOperation::Replace(replace) = &operation else { return operation };
    let parent = replace.path.parent().and_then(|parent| parent.resolve(object).ok());
    if replace.path.resolve(object).is_ok() || !parent.is_some_and(Value::is_object) {
        return operation;
    }
    PatchOperation::Add(AddOperation { path: replace.path.clone(), value: replace.value.clone() })
}

/// The number of bytes that an operation copies. Rejects an operation that nests values too deep.
fn check_growth(operation: &PatchOperation, object: &Value) -> Result<usize, PatchError> {
    let (path, value, copies) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value), false),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value), false),
        PatchOperation::Copy(copy) => (&copy.path, copy.from.resolve(object).ok(), true),
        PatchOperation::Move(moved) => (&moved.path, moved.from.resolve(object).ok(), false),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(0),
    };
    let levels = DEPTH_MAX.checked_sub(path.count());
    match (value, levels) {
        (Some(value), Some(levels)) if is_within(value, levels) => {
            Ok(if copies { value.to_string().len() } else { 0 })
        }
        (Some(_), _) => Err(PatchError::Other(format!("exceeded max depth {DEPTH_MAX}"))),
        (None, _) => Ok(0),
    }
}

/// Whether a value nests at most `levels` deep.
fn is_within(value: &Value, levels: usize) -> bool {
    let inside = |inner: &Value| levels.checked_sub(1).is_some_and(|levels| is_within(inner, levels));
    match value {
        Value::Array(items) => items.iter().all(inside),
        Value::Object(map) => map.values().all(inside),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(patch: &Value, result: &Result<Value, u16>) {
        let applied = apply(patch, &json!({ "a": { "b": "1" }, "l": ["x"] }));
        assert_eq!(&applied.map_err(|rejection| rejection.code), result, "{patch}");
    }

    #[test]
    fn replace_adds_a_missing_member_but_rejects_a_missing_element() {
        let object = json!({ "a": { "b": "1", "c": "2" }, "l": ["x"] });
        check(&json!([{ "op": "replace", "path": "/a/c", "value": "2" }]), &Ok(object));
        check(&json!([{ "op": "replace", "path": "/l/1", "value": "2" }]), &Err(422));
        check(&json!([{ "op": "replace", "path": "/no/c", "value": "2" }]), &Err(422));
    }

    #[test]
    fn apply_rejects_a_patch_that_is_not_a_list_of_operations() {
        check(&json!({ "op": "remove" }), &Err(400));
        check(&json!(["remove"]), &Err(400));
        check(&json!([{ "op": "frob", "path": "/a" }]), &Err(422));
    }

    #[test]
    fn operations_without_a_value_use_null_and_only_replace_changes_the_root() {
        let object = json!({ "a": { "b": "1", "c": null }, "l": ["x"] });
        check(&json!([{ "op": "add", "path": "/a/c" }]), &Ok(object));
        check(&json!([{ "op": "replace", "path": "", "value": {} }]), &Ok(json!({})));
        for operation in ["add", "remove"] {
            check(&json!([{ "op": operation, "path": "", "value": {} }]), &Err(422));
        }
        check(&json!([{ "op": "move", "path": "/a", "from": "" }]), &Err(422));
    }

    #[test]
    fn apply_limits_the_bytes_of_copies() {
        let double = |number| json!({ "op": "copy", "from": "/a", "path": format!("/a/{number}") });
        check(&(0..60).map(double).collect(), &Err(422));
    }

    #[test]
    fn apply_limits_the_depth_of_nesting() {
        let deeper = json!({ "op": "move", "from": "/l", "path": "/a/l" });
        let back = json!({ "op": "move", "from": "/a", "path": "/l" });
        let remake = json!({ "op": "add", "path": "/a", "value": {} });
        let rounds = std::iter::repeat_n([deeper, back, remake], 300);
        check(&rounds.flatten().collect(), &Err(422));
    }
}
