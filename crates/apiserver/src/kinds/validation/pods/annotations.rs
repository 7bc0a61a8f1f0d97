//! Validation of annotations that have a meaning for pods.

use serde_json::Value;

use super::{scheduling, security};
use crate::kinds::validation::{Errors, Path, text};

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether a pod is the copy of a static pod.
pub(super) fn is_mirror(pod: &Value) -> bool {
    !pod["metadata"]["annotations"][MIRROR].is_null()
}

/// Validates the annotations of a pod or template (`ValidatePodSpecificAnnotations`).
pub(super) fn annotations(annotations: &Value, spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !annotations.is_object() {
        return;
    }
    if let Some(value) = annotations[MIRROR].as_str().filter(|_| text(&spec["nodeName"]).is_empty()) {
        errors.invalid(at.key(MIRROR), value, "must set spec.nodeName if mirror pod annotation is set");
    }
    if let Some(Ok(list)) = annotations[TOLERATIONS].as_str().map(serde_json::from_str::<Value>) {
        scheduling::tolerations(&list, at.child(TOLERATIONS), errors);
    }
    if let Some(cost) = annotations[DELETION_COST].as_str().filter(|cost| !is_cost(cost)) {
        errors.invalid(at.key(DELETION_COST), cost, "must be a 32bit integer");
    }
    security::annotation_profiles(annotations, spec, at, errors);
}

/// Whether a text is a number of 32 bits, without a plus sign or leading zeros.
fn is_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_form = !text.starts_with('+') && (digits == "0" && text == "0" || !digits.starts_with('0'));
    has_form && text.parse::<i32>().is_ok()
}

/// Rejects changes of annotations that decide how a pod runs (`ValidatePodSpecificAnnotationUpdates`).
pub(super) fn update(pod: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (after, before) = (&pod["metadata"]["annotations"], &old["metadata"]["annotations"]);
    if after == before {
        return;
    }
    let rules = [(APP_ARMOR, "AppArmor annotations"), (MIRROR, "mirror pod annotation")];
    let rule_of = |key: &str| {
        let mut rules = rules.iter();
        rules.find(|(name, _)| if *name == MIRROR { key == *name } else { key.starts_with(name) })
    };
    for (key, value) in before.as_object().into_iter().flatten() {
        if let Some((_, what)) = rule_of(key).filter(|_| after[key] != *value) {
            errors.forbidden(at.key(key), format!("may not remove or update {what}"));
        }
    }
    for key in after.as_object().into_iter().flat_map(|map| map.keys()) {
        if let Some((_, what)) = rule_of(key).filter(|_| before[key].is_null()) {
            errors.forbidden(at.key(key), format!("may not add {what}"));
        }
    }
}
