//! Validation of templates for claims (`ValidateResourceClaimTemplate`).

use serde_json::Value;

use super::claim::{immutable, specification};
use crate::kinds::validation::{Errors, Path, template_metadata};

/// Validates a template; an update must not change its specification.
pub(in crate::kinds::validation) fn template(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    template_metadata::check(&spec["metadata"], at.child("metadata"), errors);
    specification(&spec["spec"], at.child("spec"), errors);
    if let Some(old) = old {
        immutable(spec, &old["spec"], "ResourceClaimTemplateSpec", at, errors);
    }
}
