//! Validation of runtime classes (`ValidateRuntimeClass`).

use serde_json::Value;

use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::networking::label_map;
use crate::kinds::validation::pods::{self, scheduling};
use crate::kinds::validation::{Errors, Path, TEXT, immutable_as, items, text};
use crate::names;
use crate::profile::since;
use crate::repeats::repeated;

/// Validates a runtime class, whose handler is immutable.
pub(in crate::kinds::validation) fn runtime_class(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("handler");
    match text(&object["handler"]) {
        "" if errors.profile.minor >= since::NAMES_REQUIRED => errors.required(at, ""),
        handler => errors.each(at, handler, names::label(handler)),
    }
    pods::overhead(&object["overhead"]["podFixed"], Path::Root.child("overhead"), errors);
    let at_scheduling = Path::Root.child("scheduling");
    label_map(&object["scheduling"]["nodeSelector"], at_scheduling.child("nodeSelector"), errors);
    tolerations(items(&object["scheduling"]["tolerations"]), at_scheduling.child("tolerations"), errors);
    if let Some(old) = old {
        immutable_as(TEXT, &object["handler"], Some(&old["handler"]), at, errors);
    }
}

/// Validates tolerations, which differ from each other (`validateTolerations`).
fn tolerations(list: &[Value], at: Path<'_>, errors: &mut Errors<'_>) {
    let is_repeated = repeated(
        list.iter().map(|one| ["key", "operator", "value", "effect"].map(|field| text(&one[field]))),
    );
    for (index, one) in list.iter().enumerate() {
        let at = at.index(index);
        scheduling::toleration(one, at, errors);
        if is_repeated[index] {
            let shown = internal_form(one, "Toleration");
            errors.duplicate_of(at, shown.clone(), shown, "");
        }
    }
}
