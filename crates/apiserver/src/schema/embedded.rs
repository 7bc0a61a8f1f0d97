//! Type and metadata of embedded objects (`x-kubernetes-embedded-resource`).

use serde_json::Value;

use super::path::Path;
use super::structural::Structural;
use crate::field::FieldError;
use crate::{metadata, names};

/// Normalises the metadata of embedded objects. Returns the paths of the unknown fields that it removed, in
/// order.
///
/// # Errors
/// The path, and the metadata with Go's message, if metadata has the wrong type.
pub(crate) fn coerce(value: &mut Value, schema: &Structural) -> Result<Vec<String>, (String, String)> {
    let mut removed = Vec::new();
    coerce_at(value, schema, &Path::Root, &mut removed)?;
    Ok(removed)
}

fn coerce_at(
    value: &mut Value,
    schema: &Structural,
    path: &Path<'_>,
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
                metadata::check_types(found, "ObjectMeta")
                    .map_err(|why| (here.to_string(), format!("{found}: {why}")))?;
                let unknown = metadata::normalise(found);
                removed.extend(unknown.into_iter().map(|name| here.key(&name).to_string()));
            }
            for (name, inner) in map.iter_mut() {
                if let Some(property) = schema.property(name) {
                    coerce_at(inner, property, &path.key(name), removed)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    coerce_at(item, schema, &path.index(index), removed)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Validates type and metadata of embedded objects.
pub(crate) fn check(value: &Value, schema: &Structural) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_at(value, schema, &Path::Root, &mut errors);
    errors
}

fn check_at(value: &Value, schema: &Structural, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !schema.has_embedded {
        return;
    }
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                check_type(value, path, errors);
            }
            for (name, inner) in map {
                if let Some(property) = schema.property(name) {
                    check_at(inner, property, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check_at(item, schema, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_type(object: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let field = |name: &str| path.key(name).to_string();
    match object["apiVersion"].as_str() {
        None | Some("") => errors.push(FieldError::required(field("apiVersion"), "")),
        Some(version) if version.matches('/').count() > 1 => {
            let why = format!("unexpected GroupVersion string: {version}");
            errors.push(FieldError::invalid(field("apiVersion"), version, why));
        }
        Some(_) => {}
    }
    match object["kind"].as_str() {
        None | Some("") => errors.push(FieldError::required(field("kind"), "")),
        Some(kind) => {
            if let Some(why) = names::dns1035_label(&kind.to_lowercase()).first() {
                let why = format!("may have mixed case, but should otherwise match: {why}");
                errors.push(FieldError::invalid(field("kind"), kind, why));
            }
        }
    }
}
