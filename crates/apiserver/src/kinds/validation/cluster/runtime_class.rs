//! Validation of runtime classes (`ValidateRuntimeClass`).

use serde_json::Value;

use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::networking::label_map;
use crate::kinds::validation::pods::{self, scheduling};
use crate::kinds::validation::{Errors, Path, immutable, items, text};
use crate::names;

/// Validates a runtime class, whose handler no update changes.
pub(in crate::kinds::validation) fn runtime_class(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("handler");
    match text(&object["handler"]) {
        "" => errors.required(at, ""),
        handler => errors.each(at, handler, names::label(handler)),
    }
    pods::overhead(&object["overhead"]["podFixed"], Path::Root.child("overhead"), errors);
    let at = Path::Root.child("scheduling");
    label_map(&object["scheduling"]["nodeSelector"], at.child("nodeSelector"), errors);
    tolerations(items(&object["scheduling"]["tolerations"]), at.child("tolerations"), errors);
    if let Some(old) = old {
        immutable(&object["handler"], Some(&old["handler"]), Path::Root.child("handler"), errors);
    }
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
