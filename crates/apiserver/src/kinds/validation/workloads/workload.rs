//! Validation of controllers of pods other than jobs, and of autoscalers.

use serde_json::Value;

use crate::kinds::validation::pods::pod;
use crate::kinds::validation::pods::template::annotations;
use crate::kinds::validation::workloads::metrics;
use crate::kinds::validation::{Errors, Path, absent, items, non_negative, one_of, selector, text};

const MISMATCH: &str = "`selector` does not match template `labels`";

fn spec_path() -> Path<'static> {
    Path::Field(&Path::Root, "spec")
}

/// Validates a template, and the selector that must match its labels (`ValidatePodTemplateSpecForReplicaSet`
/// and others).
fn selected_template(spec: &Value, errors: &mut Errors<'_>) {
    let at = spec_path();
    let choice = &spec["selector"];
    if choice.is_null() {
        errors.required(Path::Field(&at, "selector"), "");
    } else {
        selector::check(choice, Path::Field(&at, "selector"), errors);
        if selector::is_empty(choice) {
            errors.invalid(
                Path::Field(&at, "selector"),
                choice.clone(),
                "empty selector is invalid for deployment",
            );
        }
    }
    let template = Path::Field(&at, "template");
    let labels = &spec["template"]["metadata"]["labels"];
    let metadata = Path::Field(&template, "metadata");
    if !windtunnel_core::selector::selector_matches(choice, labels) {
        errors.invalid_map(Path::Field(&metadata, "labels"), labels, MISMATCH);
    }
    template_labels(labels, Path::Field(&metadata, "labels"), errors);
    annotations(&spec["template"], template, errors);
    let inner = Path::Field(&template, "spec");
    pod::spec(&spec["template"]["spec"], inner, errors);
    let policy = text(&spec["template"]["spec"]["restartPolicy"]);
    if policy != "Always" {
        errors.unsupported(Path::Field(&inner, "restartPolicy"), policy, &["Always"]);
    }
    if !spec["template"]["spec"]["activeDeadlineSeconds"].is_null() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.forbidden(Path::Field(&inner, "activeDeadlineSeconds"), why);
    }
}

fn template_labels(labels: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.each(at, key, crate::names::labels::label_key(key));
        errors.each(at, text(value), crate::names::labels::label_value(text(value)));
    }
}

pub(in crate::kinds::validation) fn pod_template(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let template = Path::Field(&Path::Root, "template");
    pod::spec(&object["template"]["spec"], Path::Field(&template, "spec"), errors);
}

pub(in crate::kinds::validation) fn deployment(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = spec_path();
    let spec = &object["spec"];
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        non_negative(&spec[field], Path::Field(&at, field), errors);
    }
    selected_template(spec, errors);
    let strategy = Path::Field(&at, "strategy");
    let rolling = &spec["strategy"]["rollingUpdate"];
    match text(&spec["strategy"]["type"]) {
        "Recreate" => {
            if !rolling.is_null() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                errors.forbidden(Path::Field(&strategy, "rollingUpdate"), why);
            }
        }
        "RollingUpdate" => {
            if rolling.is_null() {
                let why = "this should be defaulted and never be nil";
                errors.required(Path::Field(&strategy, "rollingUpdate"), why);
            } else {
                rolling_update(rolling, Path::Field(&strategy, "rollingUpdate"), errors);
            }
        }
        other => errors.unsupported(Path::Field(&strategy, "type"), other, &["Recreate", "RollingUpdate"]),
    }
    if let (Some(deadline), Some(ready)) =
        (spec["progressDeadlineSeconds"].as_i64(), Some(spec["minReadySeconds"].as_i64().unwrap_or(0)))
        && deadline <= ready
    {
        let why = "must be greater than minReadySeconds";
        errors.invalid(Path::Field(&at, "progressDeadlineSeconds"), deadline, why);
    }
    immutable_selector(object, old, errors);
}

fn immutable_selector(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let old = old.map(|old| &old["spec"]["selector"]);
    selector::immutable(&object["spec"]["selector"], old, Path::Field(&spec_path(), "selector"), errors);
}

fn rolling_update(rolling: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["maxUnavailable", "maxSurge"] {
        amount(&rolling[field], Path::Field(&at, field), errors);
    }
    let zero = |field: &str| rolling[field] == 0 || rolling[field] == "0%";
    if zero("maxUnavailable") && zero("maxSurge") {
        let why = "may not be 0 when `maxSurge` is 0";
        errors.invalid(Path::Field(&at, "maxUnavailable"), rolling["maxUnavailable"].clone(), why);
    }
    if percentage(&rolling["maxUnavailable"]).is_some_and(|percent| percent > 100) {
        errors.invalid(
            Path::Field(&at, "maxUnavailable"),
            rolling["maxUnavailable"].clone(),
            "must not be greater than 100%",
        );
    }
}

/// The number in a percentage such as `25%`.
pub(in crate::kinds::validation) fn percentage(value: &Value) -> Option<i64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}

/// Requires a percentage, or a number that is not negative (`ValidatePositiveIntOrPercent`).
pub(in crate::kinds::validation) fn amount(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match value {
        Value::String(given) => {
            let digits = given.strip_suffix('%').unwrap_or("");
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                           '93%', regex used for validation is '[0-9]+%')";
                errors.invalid(at, given.as_str(), why);
            }
        }
        number => non_negative(number, at, errors),
    }
}

pub(in crate::kinds::validation) fn replica_set(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = spec_path();
    for field in ["replicas", "minReadySeconds"] {
        non_negative(&object["spec"][field], Path::Field(&at, field), errors);
    }
    selected_template(&object["spec"], errors);
    immutable_selector(object, old, errors);
}

pub(in crate::kinds::validation) fn daemon_set(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = spec_path();
    let spec = &object["spec"];
    for field in ["minReadySeconds", "revisionHistoryLimit"] {
        non_negative(&spec[field], Path::Field(&at, field), errors);
    }
    selected_template(spec, errors);
    let strategy = Path::Field(&at, "updateStrategy");
    match text(&spec["updateStrategy"]["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = &spec["updateStrategy"]["rollingUpdate"];
            let at = Path::Field(&strategy, "rollingUpdate");
            for field in ["maxUnavailable", "maxSurge"] {
                amount(&rolling[field], Path::Field(&at, field), errors);
            }
            let zero = |field: &str| rolling[field] == 0 || rolling[field] == "0%";
            if zero("maxUnavailable") && zero("maxSurge") {
                let why = "cannot be 0 when maxSurge is 0";
                errors.invalid(Path::Field(&at, "maxUnavailable"), rolling["maxUnavailable"].clone(), why);
            }
            if !zero("maxUnavailable") && !zero("maxSurge") {
                let why = "may not be set when maxUnavailable is non-zero";
                errors.invalid(Path::Field(&at, "maxSurge"), rolling["maxSurge"].clone(), why);
            }
        }
        other => errors.unsupported(Path::Field(&strategy, "type"), other, &["RollingUpdate", "OnDelete"]),
    }
    immutable_selector(object, old, errors);
}

/// Fields that an update of a StatefulSet may change; of the claim templates, only the metadata.
const FREE: [&str; 8] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
    "volumeClaimTemplates",
];

pub(in crate::kinds::validation) fn stateful_set(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = spec_path();
    let spec = &object["spec"];
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        non_negative(&spec[field], Path::Field(&at, field), errors);
    }
    let policies = ["OrderedReady", "Parallel"];
    one_of(&spec["podManagementPolicy"], &policies, Path::Field(&at, "podManagementPolicy"), errors);
    let strategy = Path::Field(&at, "updateStrategy");
    let strategies = ["RollingUpdate", "OnDelete"];
    one_of(&spec["updateStrategy"]["type"], &strategies, Path::Field(&strategy, "type"), errors);
    selected_template(spec, errors);
    let Some(old) = old.filter(|old| old["spec"] != *spec) else { return };
    let frozen = |spec: &Value, name: &String| !FREE.contains(&name.as_str()) && !spec[name].is_null();
    let fields = |spec: &Value| -> Vec<(String, Value)> {
        let all = spec.as_object().into_iter().flatten();
        all.filter(|(name, _)| frozen(spec, name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let claims = |spec: &Value| -> Vec<Value> {
        items(&spec["volumeClaimTemplates"]).iter().map(|claim| claim["spec"].clone()).collect()
    };
    if fields(spec) != fields(&old["spec"]) || claims(spec) != claims(&old["spec"]) {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                   'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                   'minReadySeconds' are forbidden";
        errors.forbidden(at, why);
    }
}

pub(in crate::kinds::validation) fn replication_controller(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = spec_path();
    let spec = &object["spec"];
    for field in ["replicas", "minReadySeconds"] {
        non_negative(&spec[field], Path::Field(&at, field), errors);
    }
    if absent(&spec["selector"]) {
        errors.required(Path::Field(&at, "selector"), "");
    }
    let template = Path::Field(&at, "template");
    if spec["template"].is_null() {
        errors.required(template, "");
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let chosen = spec["selector"].as_object().into_iter().flatten().all(|(key, value)| labels[key] == *value);
    if !chosen {
        let metadata = Path::Field(&template, "metadata");
        errors.invalid_map(Path::Field(&metadata, "labels"), labels, MISMATCH);
    }
    pod::spec(&spec["template"]["spec"], Path::Field(&template, "spec"), errors);
}

pub(in crate::kinds::validation) fn autoscaler(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = spec_path();
    let spec = &object["spec"];
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        errors.invalid(Path::Field(&at, "minReplicas"), least, "must be greater than or equal to 1");
    }
    if most < 1 {
        errors.invalid(Path::Field(&at, "maxReplicas"), most, "must be greater than 0");
    }
    if least.is_some_and(|least| most < least) {
        errors.invalid(
            Path::Field(&at, "maxReplicas"),
            most,
            "must be greater than or equal to `minReplicas`",
        );
    }
    let target = Path::Field(&at, "scaleTargetRef");
    for field in ["kind", "name"] {
        if absent(&spec["scaleTargetRef"][field]) {
            errors.required(Path::Field(&target, field), "");
        }
    }
    metrics::check(&spec["metrics"], Path::Field(&at, "metrics"), errors);
}
