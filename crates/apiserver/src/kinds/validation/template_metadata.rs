//! Metadata of templates for objects (`ValidateTemplateObjectMeta`).

use serde_json::Value;

use super::networking::label_map;
use super::{Errors, Path, text};
use crate::names::labels;

/// Maximum size of all annotations, in bytes (`TotalAnnotationSizeLimitB`).
const ANNOTATIONS_MAX: u64 = 256 << 10;

/// Accepts labels and annotations only.
pub(super) fn check(metadata: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    annotations(&metadata["annotations"], at.child("annotations"), errors);
    label_map(&metadata["labels"], at.child("labels"), errors);
    for (field, value) in metadata.as_object().into_iter().flatten() {
        if !matches!(&**field, "labels" | "annotations") && !value.is_null() {
            let shown = if field == "uid" { "uID" } else { field };
            errors.forbidden(at.child(shown), "cannot be set");
        }
    }
}

/// Validates annotations (`ValidateAnnotations`).
pub(super) fn annotations(annotations: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        errors.each(at, key, labels::label_key(&key.to_lowercase()));
        size += (key.len() + text(value).len()) as u64;
    }
    if size > ANNOTATIONS_MAX {
        errors.too_long(at, ANNOTATIONS_MAX);
    }
}
