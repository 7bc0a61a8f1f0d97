//! Validation of Deployments and ReplicaSets.

use serde_json::Value;

use crate::gotext;
use crate::kinds::validation::workloads::{amount, template};
use crate::kinds::validation::{Errors, Path, non_negative, selector, text};
use crate::profile::since;

const STRATEGIES: [&str; 2] = ["Recreate", "RollingUpdate"];

/// Validates a Deployment (`ValidateDeploymentSpec`).
pub(in crate::kinds::validation) fn deployment(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    replicated(spec, at, errors);
    strategy(&spec["strategy"], at.child("strategy"), errors);
    for field in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        non_negative(&spec[field], at.child(field), errors);
    }
    let ready = spec["minReadySeconds"].as_i64().unwrap_or(0);
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64().filter(|deadline| *deadline <= ready) {
        let why = "must be greater than minReadySeconds";
        errors.invalid(at.child("progressDeadlineSeconds"), deadline, why);
    }
    keeps_selector(spec, old, errors);
}

/// Validates a ReplicaSet (`ValidateReplicaSetSpec`).
pub(in crate::kinds::validation) fn replica_set(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    let first = errors.found.len();
    replicated(spec, at, errors);
    non_negative(&spec["minReadySeconds"], at.child("minReadySeconds"), errors);
    if old.is_some() && errors.profile.minor < since::UPDATES_VALIDATED_ONCE {
        errors.repeat_since(first);
    }
    keeps_selector(spec, old, errors);
}

/// Validates replicas, selector and template; both kinds have the same messages.
fn replicated(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    non_negative(&spec["replicas"], at.child("replicas"), errors);
    if !template::check_selector(spec, "deployment", at, errors) {
        selector::invalid(&spec["selector"], at.child("selector"), "invalid label selector", errors);
        return;
    }
    template::matches(spec, at, errors);
    let (template, place) = (&spec["template"], at.child("template"));
    template::check(template, place, errors);
    template::runs_forever(template, "ReplicaSet", place, errors);
}

/// Requires that an update keeps the selector.
pub(super) fn keeps_selector(spec: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let old = old.map(|old| &old["spec"]["selector"]);
    selector::immutable(&spec["selector"], old, Path::Root.child("spec").child("selector"), errors);
}

fn strategy(strategy: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let rolling = &strategy["rollingUpdate"];
    let place = at.child("rollingUpdate");
    match text(&strategy["type"]) {
        "Recreate" if !rolling.is_null() => {
            errors.forbidden(place, "may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" if rolling.is_null() => {
            errors.required(place, "this should be defaulted and never be nil");
        }
        "RollingUpdate" => rolling_update(rolling, place, errors),
        _ => {
            let (json, syntax) = shown(strategy, "apps.Deployment", &["maxUnavailable", "maxSurge"]);
            errors.unsupported_shown(at, json, syntax, &STRATEGIES);
        }
    }
}

fn rolling_update(rolling: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    amount::check(unavailable, at.child("maxUnavailable"), errors);
    amount::check(surge, at.child("maxSurge"), errors);
    if amount::number(unavailable) == 0 && amount::number(surge) == 0 {
        let why = "may not be 0 when `maxSurge` is 0";
        errors.invalid_amount(at.child("maxUnavailable"), unavailable, why);
    }
    amount::at_most_all(unavailable, at.child("maxUnavailable"), errors);
}

/// A strategy as JSON of the internal type and in Go syntax. `owner` is the start of the Go name; `fields` are those
/// of a rolling update, in the order of the Go struct.
pub(super) fn shown(strategy: &Value, owner: &str, fields: &[&str]) -> (String, String) {
    let capitalised = |name: &str| name[..1].to_uppercase() + &name[1..];
    let kind = Value::from(text(&strategy["type"]));
    let rolling = &strategy["rollingUpdate"];
    let rolling = if rolling.is_null() {
        "null".to_owned()
    } else {
        let value = |name: &str| if rolling[name].is_null() { Value::from(0) } else { rolling[name].clone() };
        let fields = fields.iter().map(|name| format!("\"{}\":{}", capitalised(name), value(name)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    let json = format!("{{\"Type\":{kind},\"RollingUpdate\":{rolling}}}");
    let start =
        format!("{owner}{}", if owner.ends_with("Deployment") { "Strategy" } else { "UpdateStrategy" });
    let rolling_type = format!("(*apps.RollingUpdate{})", owner.trim_start_matches("apps."));
    let address = if rolling == "null" { "nil" } else { gotext::ADDRESS };
    (json, format!("{start}{{Type:{kind}, RollingUpdate:{rolling_type}({address})}}"))
}
