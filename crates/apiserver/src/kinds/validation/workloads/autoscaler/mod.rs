//! Validation of HorizontalPodAutoscalers (`validateHorizontalPodAutoscalerSpec`).

mod behavior;
mod metrics;
mod reference;

use serde_json::Value;

use self::reference::Groups;
use crate::kinds::validation::{Errors, Path, items, non_negative, text};
use crate::profile::since;

/// Validates an autoscaler.
pub(in crate::kinds::validation) fn autoscaler(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    let before = old.map(|old| &old["spec"]);
    replicas(spec, before, at, errors);
    let target = &spec["scaleTargetRef"];
    let groups = target_groups(target, before, errors.profile.minor);
    reference::check(target, groups, at.child("scaleTargetRef"), errors);
    let is_tolerated =
        before.is_some_and(|before| items(&before["metrics"]).iter().any(metrics::has_invalid_object));
    let groups = if is_tolerated { Groups::Unchecked } else { Groups::Any };
    metrics::check(spec, groups, at.child("metrics"), errors);
    for field in ["scaleUp", "scaleDown"] {
        behavior::check(&spec["behavior"][field], at.child("behavior").child(field), errors);
    }
}

fn replicas(spec: &Value, before: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or(0));
    // An autoscaler that scaled to zero may keep doing so (`HPAScaleToZero`).
    let bound = i64::from(before.is_none_or(|before| before["minReplicas"] != 0));
    if let Some(least) = least.filter(|least| *least < bound) {
        errors.invalid(at.child("minReplicas"), least, format!("must be greater than or equal to {bound}"));
    }
    let place = at.child("maxReplicas");
    if errors.profile.minor < since::DECLARATIVE_AUTOSCALER {
        if most < 1 {
            errors.invalid(place, most, "must be greater than 0");
        }
    } else if most == 0 {
        errors.required(place, "must be set and greater than 0");
    } else if most < 0 {
        errors.invalid(place, most, "must be greater than or equal to 1");
    }
    if least.is_some_and(|least| most < least) {
        errors.invalid(place, most, "must be greater than or equal to `minReplicas`");
    }
}

/// The groups that the target may have (`validationOptionsForHorizontalPodAutoscaler`).
fn target_groups(target: &Value, before: Option<&Value>, minor: u32) -> Groups {
    let is_same = |before: &Value| {
        let old = &before["scaleTargetRef"];
        text(&old["apiVersion"]) == text(&target["apiVersion"]) && old["kind"] == target["kind"]
    };
    if minor < since::AUTOSCALER_TARGET_GROUP || before.is_some_and(is_same) {
        Groups::Unchecked
    } else if target["kind"] == "ReplicationController" {
        Groups::Any
    } else {
        Groups::Named
    }
}

/// Validates the status of an autoscaler (`ValidateHorizontalPodAutoscalerStatusUpdate`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    for field in ["currentReplicas", "desiredReplicas"] {
        non_negative(&object["status"][field], at.child(field), errors);
    }
}
