//! Validation of runtime classes (`ValidateRuntimeClass`).

use serde_json::Value;

use super::node::resource;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::networking::label_map;
use crate::kinds::validation::pods::scheduling;
use crate::kinds::validation::resource_names::is_container_resource;
use crate::kinds::validation::{Errors, Path, immutable, items, text};
use crate::names;
use crate::profile::since;

/// Validates a runtime class. An update validates only that the handler is the same.
pub(in crate::kinds::validation) fn runtime_class(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("handler");
    if let Some(old) = old {
        immutable(&object["handler"], Some(&old["handler"]), at, errors);
        return;
    }
    match text(&object["handler"]) {
        "" if errors.profile.minor >= since::NAMES_REQUIRED => errors.required(at, ""),
        handler => errors.each(at, handler, names::label(handler)),
    }
    let overhead = Path::Root.child("overhead");
    let limits = overhead.child("limits");
    for (name, amount) in object["overhead"]["podFixed"].as_object().into_iter().flatten() {
        let at = limits.key(name);
        if !name.contains('/') && !is_container_resource(name) {
            errors.invalid_name(at, name, "must be a standard resource type or fully qualified");
            errors.invalid_name(at, name, "must be a standard resource for containers");
        }
        resource(name, amount, at, errors);
    }
    let at = Path::Root.child("scheduling");
    label_map(&object["scheduling"]["nodeSelector"], at.child("nodeSelector"), errors);
    tolerations(items(&object["scheduling"]["tolerations"]), at.child("tolerations"), errors);
}

/// Validates tolerations, which differ from each other (`validateTolerations`).
fn tolerations(list: &[Value], at: Path<'_>, errors: &mut Errors<'_>) {
    let same = |one: &Value, other: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|field| text(&one[*field]) == text(&other[*field]))
    };
    for (index, one) in list.iter().enumerate() {
        let at = at.index(index);
        scheduling::toleration(one, at, errors);
        if list[..index].iter().any(|earlier| same(earlier, one)) {
            let shown = internal_form(one, "Toleration");
            errors.duplicate_of(at, shown.clone(), shown, "");
        }
    }
}
