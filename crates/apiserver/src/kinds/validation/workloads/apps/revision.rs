//! Validation of ControllerRevisions.

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, immutable, non_negative};
use crate::profile::since;

/// Validates a revision, whose data are an immutable object (`ValidateControllerRevisionCreate`,
/// `ValidateControllerRevisionUpdate`).
pub(in crate::kinds::validation) fn revision(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    non_negative(&object["revision"], Path::Root.child("revision"), errors);
    let at = Path::Root.child("data");
    let data = &object["data"];
    if let Some(old) = old {
        immutable(data, Some(&old["data"]), at, errors);
    } else if errors.profile.minor >= since::REVISION_DATA {
        match data {
            Value::Object(_) => {}
            Value::Null => errors.required(at, "data is mandatory"),
            _ => errors.required(at, "data must be a valid JSON object"),
        }
    }
}
