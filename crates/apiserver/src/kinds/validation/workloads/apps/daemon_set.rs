//! Validation of DaemonSets.

use serde_json::Value;

use super::deployment::{keeps_selector, shown};
use crate::kinds::validation::workloads::{amount, template};
use crate::kinds::validation::{Errors, Path, non_negative, selector, text};
use crate::profile::since;

const STRATEGIES: [&str; 2] = ["RollingUpdate", "OnDelete"];

/// Validates a DaemonSet (`ValidateDaemonSetSpec`).
pub(in crate::kinds::validation) fn daemon_set(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    let first = errors.found.len();
    check_selector(spec, at, errors);
    let (template, place) = (&spec["template"], at.child("template"));
    template::check(template, place, errors);
    template::runs_forever(template, "DaemonSet", place, errors);
    non_negative(&spec["minReadySeconds"], at.child("minReadySeconds"), errors);
    strategy(&spec["updateStrategy"], at.child("updateStrategy"), errors);
    non_negative(&spec["revisionHistoryLimit"], at.child("revisionHistoryLimit"), errors);
    if old.is_some() && errors.profile.minor < since::UPDATES_VALIDATED_ONCE {
        errors.repeat_since(first);
    }
    keeps_selector(spec, old, errors);
}

/// Validates the selector. An absent one has no error of its own, but matches no labels.
fn check_selector(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let choice = &spec["selector"];
    if choice.is_null() {
        template::matches(spec, at, errors);
        return;
    }
    let before = errors.found.len();
    selector::check(choice, at.child("selector"), errors);
    if errors.found.len() == before {
        template::matches(spec, at, errors);
    }
    if selector::is_empty(choice) {
        selector::invalid(choice, at.child("selector"), "empty selector is invalid for daemonset", errors);
    }
}

fn strategy(strategy: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(&strategy["type"]) {
        "OnDelete" => {}
        "RollingUpdate" if strategy["rollingUpdate"].is_null() => {
            errors.required(at.child("rollingUpdate"), "");
        }
        "RollingUpdate" => rolling_update(&strategy["rollingUpdate"], at.child("rollingUpdate"), errors),
        _ => {
            let (json, syntax) = shown(strategy, "apps.DaemonSet", &["maxUnavailable", "maxSurge"]);
            errors.unsupported_shown(at, json, syntax, &STRATEGIES);
        }
    }
}

/// Validates a rolling update, which makes pods unavailable or adds pods, but not both
/// (`ValidateRollingUpdateDaemonSet`).
fn rolling_update(rolling: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["maxUnavailable", "maxSurge"] {
        amount::check(&rolling[field], at.child(field), errors);
        amount::at_most_all(&rolling[field], at.child(field), errors);
    }
    let has = |field: &str| amount::number(&rolling[field]) != 0;
    match (has("maxUnavailable"), has("maxSurge")) {
        (true, true) => {
            let why = "may not be set when maxUnavailable is non-zero";
            errors.invalid(at.child("maxSurge"), rolling["maxSurge"].clone(), why);
        }
        (false, false) => errors.required(at.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}
