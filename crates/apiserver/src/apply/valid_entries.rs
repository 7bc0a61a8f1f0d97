//! The check of managed fields that a mutating webhook changed (`managedfields.ValidateManagedFields`).

use serde_json::Value;

use crate::field_set::FieldSet;
use crate::gotext::quote;

/// Checks the value of `metadata.managedFields`.
///
/// # Errors
/// The real server's message about the first invalid entry.
pub(crate) fn check_entries(entries: Option<&Value>) -> Result<(), String> {
    for (index, entry) in entries.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            return Err("operation must be `Apply` or `Update`".to_owned());
        }
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => {
                return Err(format!("invalid fieldsType {} in managed fields entry {index}", quote(other)));
            }
        }
        if FieldSet::read(entry["fieldsV1"].clone()).is_none() {
            return Err(format!("error decoding versioned set of managed fields entry {index}"));
        }
    }
    Ok(())
}
