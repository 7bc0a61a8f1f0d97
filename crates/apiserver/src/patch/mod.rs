//! Patches of objects: JSON patches, merge patches and strategic merge patches.

mod operations;
mod printed;
mod strategic;

use serde_json::Value;

use crate::gotext::json_type;
use crate::kinds::Kind;
use crate::request::options::PatchType;
use crate::status::{Outcome, Refused};

pub(crate) use operations::apply as apply_operations;
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
            Err(Refused::bad_request(cannot_unmarshal(patch, "map[string]interface {}")))
        }
        (_, Value::Null) => Err(Refused::bad_request("Invalid JSON Patch")),
        (_, Value::Object(_)) => {
            let mut object = old.clone();
            json_patch::merge(&mut object, patch);
            Ok(object)
        }
        _ => Err(wrong_type(patch, "map[string]interface {}")),
    }
}

/// The error for a part of the patch that does not have the type that Go expects.
fn wrong_type(part: &Value, expected: &str) -> Refused {
    Refused::bad_request(format!("error decoding patch: {}", cannot_unmarshal(part, expected)))
}

fn cannot_unmarshal(part: &Value, expected: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {expected}", json_type(part))
}
