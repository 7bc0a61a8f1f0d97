//! Validation of namespaces (`ValidateNamespace`, `ValidateNamespaceFinalizeUpdate`).

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, items, text};
use crate::names::labels;

/// Finalizers without a domain.
const STANDARD: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

/// Validates the finalizers, which only the subresource `finalize` changes. Only there the path has the index.
pub(in crate::kinds::validation) fn namespace(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let finalizers = &object["spec"]["finalizers"];
    if old.is_some_and(|old| old["spec"]["finalizers"] == *finalizers) {
        return;
    }
    let spec = Path::Root.child("spec");
    let list = spec.child("finalizers");
    for (index, name) in items(finalizers).iter().map(text).enumerate() {
        let at = if old.is_some() { list.index(index) } else { list };
        errors.each(at, name, labels::label_key(name));
        if !name.contains('/') && !STANDARD.contains(&name) {
            errors.invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
}
