//! Type and metadata of embedded objects (`x-kubernetes-embedded-resource`).

use serde_json::Value;

use super::path::Path;
use super::structural::Structural;
use crate::field::{FieldError, Shown};
use crate::profile::{Profile, since};
use crate::{metadata, names};

/// Normalises the metadata of embedded objects. Returns the paths of the unknown fields that it removed, in
/// order.
///
/// # Errors
/// The path, and the metadata with Go's message, if metadata has the wrong type.
pub(crate) fn coerce(
    value: &mut Value,
    schema: &Structural,
    profile: &Profile,
) -> Result<Vec<String>, (String, String)> {
    let mut removed = Vec::new();
    coerce_at(value, schema, &Path::Root, profile, &mut removed)?;
    Ok(removed)
}

fn coerce_at(
    value: &mut Value,
    schema: &Structural,
    path: &Path<'_>,
    profile: &Profile,
    removed: &mut Vec<String>,
) -> Result<(), (String, String)> {
    if !schema.has_embedded {
        return Ok(());
    }
    match value {
        Value::Object(map) => {
            if schema.embedded_resource
                && let Some(found) = map.get_mut("metadata")
            {
                let here = path.key("metadata");
                metadata::check_types(found, "ObjectMeta").map_err(|why| {
                    (here.to_string(), format!("{}: {why}", Shown::Json(found.clone()).text(profile)))
                })?;
                let unknown = metadata::normalise(found);
                removed.extend(unknown.into_iter().map(|name| here.key(&name).to_string()));
            }
            for (name, inner) in map.iter_mut() {
                if let Some(property) = schema.property(name) {
                    coerce_at(inner, property, &path.key(name), profile, removed)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    coerce_at(item, schema, &path.index(index), profile, removed)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Validates type and metadata of embedded objects.
pub(crate) fn check(value: &Value, schema: &Structural, profile: &Profile) -> Vec<FieldError> {
    let mut found = Found { errors: Vec::new(), profile };
    check_at(value, schema, &Path::Root, &mut found);
    found.errors
}

/// The errors so far.
struct Found<'p> {
    errors: Vec<FieldError>,
    profile: &'p Profile,
}

fn check_at(value: &Value, schema: &Structural, path: &Path<'_>, found: &mut Found<'_>) {
    if !schema.has_embedded {
        return;
    }
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                check_type(value, path, found);
                check_metadata(value, path, found);
            }
            for (name, inner) in map {
                if let Some(property) = schema.property(name) {
                    check_at(inner, property, &path.member(name, schema), found);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check_at(item, schema, &path.index(index), found);
                }
            }
        }
        _ => {}
    }
}

/// Validates the type (`validateEmbeddedResource`).
fn check_type(object: &Value, path: &Path<'_>, found: &mut Found<'_>) {
    let absent = found.profile.since(since::SHORTER_DETAILS, "must not be empty", "");
    let errors = &mut found.errors;
    for name in ["apiVersion", "kind"] {
        let at = path.key(name).to_string();
        let text = match object.get(name) {
            None => {
                errors.push(FieldError::required(at, absent));
                continue;
            }
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(at, "", "must not be empty"));
                continue;
            }
            Some(Value::String(text)) => text,
            Some(other) => {
                errors.push(FieldError::invalid(at, other.clone(), "must be a string"));
                continue;
            }
        };
        let problem = if name == "kind" { problem_of_kind(text) } else { problem_of_version(text) };
        errors.extend(problem.map(|why| FieldError::invalid(at, text.as_str(), why)));
    }
}

fn problem_of_version(version: &str) -> Option<String> {
    (version.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {version}"))
}

fn problem_of_kind(kind: &str) -> Option<String> {
    let problems = names::dns1035_label(&kind.to_lowercase());
    let why = || format!("may have mixed case, but should otherwise match: {}", problems.join(","));
    (!problems.is_empty()).then(why)
}

/// Validates the metadata, which may lack a name.
fn check_metadata(object: &Value, path: &Path<'_>, found: &mut Found<'_>) {
    if !object.get("metadata").is_some_and(Value::is_object) {
        return;
    }
    let here = path.to_string();
    let errors = metadata::check_embedded(object, found.profile);
    found.errors.extend(errors.into_iter().map(|error| error.below(&here)));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn embedded_objects_have_a_type_and_valid_metadata_also_in_lists() {
        let schema = Structural::read(&json!({ "type": "object", "properties": { "l": { "type": "array",
            "items": { "type": "object", "x-kubernetes-embedded-resource": true } } } }));
        let profile = Profile::of(36, false);
        for (object, problem) in [
            (json!({ "apiVersion": "v1", "kind": "Pod" }), ""),
            (json!({ "kind": "Pod" }), "l[0].apiVersion: Required value"),
            (
                json!({ "apiVersion": "", "kind": "Pod" }),
                "l[0].apiVersion: Invalid value: \"\": must not be empty",
            ),
            (json!({ "apiVersion": "v1", "kind": 5 }), "l[0].kind: Invalid value: 5: must be a string"),
            (
                json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a/b" } }),
                "l[0].metadata.name: Invalid value: \"a/b\": may not contain '/'",
            ),
        ] {
            let errors = check(&json!({ "l": [object] }), &schema, &profile);
            let texts: Vec<String> = errors.iter().map(|error| error.text(&profile)).collect();
            assert_eq!(texts.join("; "), problem);
        }
    }
}
