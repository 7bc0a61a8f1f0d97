//! Patches of objects: JSON patches, merge patches and strategic merge patches.

mod error;
mod operations;
mod printed;
mod strategic;

use serde_json::Value;

use crate::gotext::json_type;
use crate::kinds::Kind;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::options::PatchType;

pub(crate) use error::PatchError;
pub(crate) use operations::apply_own;
pub(crate) use printed::printed;

/// Applies a patch of any type but apply to an object.
pub(crate) fn merged(patch_type: PatchType, patch: &Value, old: &Value, kind: &Kind) -> Outcome<Value> {
    match (patch_type, patch) {
        (PatchType::Json, _) => crate::patch::operations::apply(patch, old),
        (PatchType::Strategic, Value::Null) => Ok(old.clone()),
        (PatchType::Strategic, Value::Object(patch)) => {
            crate::patch::strategic::apply(patch.clone(), old, kind)
        }
        (PatchType::Strategic, _) => {
            Err(BoxedRejection::bad_request(cannot_unmarshal(patch, "map[string]interface {}")))
        }
        (_, Value::Null) => Err(BoxedRejection::bad_request("Invalid JSON Patch")),
        (_, Value::Object(_)) => {
            let mut object = old.clone();
            json_patch::merge(&mut object, &without_nulls(patch, false));
            Ok(object)
        }
        _ => Err(wrong_type(patch, "map[string]interface {}")),
    }
}

/// A merge patch without the nulls in the elements of its lists, which remove nothing.
fn without_nulls(patch: &Value, is_element: bool) -> Value {
    match patch {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !is_element || !value.is_null());
            kept.map(|(name, value)| (name.clone(), without_nulls(value, is_element))).collect()
        }
        Value::Array(items) => items.iter().map(|item| without_nulls(item, true)).collect(),
        other => other.clone(),
    }
}

/// The error for a part of the patch that does not have the type that Go expects.
fn wrong_type(part: &Value, expected: &str) -> BoxedRejection {
    BoxedRejection::bad_request(format!("error decoding patch: {}", cannot_unmarshal(part, expected)))
}

fn cannot_unmarshal(part: &Value, expected: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {expected}", json_type(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_loses_the_nulls_in_elements_of_lists() {
        let patch = json!({ "a": null, "l": [{ "b": null, "c": [{ "d": null }, null] }] });
        let kept = json!({ "a": null, "l": [{ "c": [{}, null] }] });
        assert_eq!(without_nulls(&patch, false), kept);
    }
}
