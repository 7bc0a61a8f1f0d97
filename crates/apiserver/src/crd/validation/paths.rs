//! Validation of JSON paths: those of scale, printer columns and selectable fields.

use serde_json::{Value, json};

use crate::field::{Cause, FieldError};

/// Maximum number of selectable fields of a version.
const SELECTABLE_MAX: usize = 8;

/// Validates a path in the syntax of `kubectl`, without filters (`validateSimpleJSONPath`).
pub(super) fn simple(path: &str, at: &str) -> Option<FieldError> {
    let why = match path.chars().next() {
        None => "must not be empty",
        Some('.') => return None,
        Some(_) => "must be a simple json path starting with .",
    };
    Some(FieldError::invalid(at, path, why))
}

/// Validates the paths of selectable fields: unique, and to a string, boolean or integer.
pub(super) fn selectable(fields: &[Value], schema: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{at}[{index}].jsonPath");
        let path = field["jsonPath"].as_str().unwrap_or_default();
        if path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let found = match follow(path, schema) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(at, path, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if path == ".metadata" || path.starts_with(".metadata.") {
            errors.push(FieldError::invalid(at.as_str(), path, "must not point to fields in metadata"));
        }
        if !matches!(found["type"].as_str(), Some("string" | "boolean" | "integer")) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                       with formats are allowed.";
            errors.push(FieldError::invalid(at.as_str(), path, why));
        }
        if seen.contains(&path) {
            errors.push(FieldError::new(Cause::Duplicate, at, json!(path), ""));
        } else {
            seen.push(path);
        }
    }
    if seen.len() > SELECTABLE_MAX {
        let detail = format!("must have at most {SELECTABLE_MAX} items");
        errors.push(FieldError::new(Cause::TooMany, at, json!(seen.len()), detail));
    }
    errors
}

/// The schema at a path of names and dots (`cel.ValidFieldPath`).
fn follow<'a>(path: &str, schema: &'a Value) -> Result<&'a Value, String> {
    let Some(names) = path.strip_prefix('.') else {
        let word: String = path.chars().take_while(|c| !matches!(c, '.' | '[')).collect();
        return Err(format!("expected [ or . but got: {word}"));
    };
    let mut schema = schema;
    for name in names.split('.') {
        if name.is_empty() {
            return Err("unexpected end of JSON path".to_owned());
        }
        if name.contains('[') {
            return Err("array notation is not allowed".to_owned());
        }
        schema = schema["properties"].get(name).ok_or("does not refer to a valid field")?;
    }
    Ok(schema)
}
