//! Validation of Jobs and CronJobs.

use serde_json::Value;

use crate::kinds::validation::pods::pod;
use crate::kinds::validation::{Errors, Path, absent, immutable, non_negative, one_of, selector, text};

pub(in crate::kinds::validation) fn job(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    job_spec(spec, at, errors);
    if spec["selector"].is_null() {
        errors.required(Path::Field(&at, "selector"), "");
    } else {
        selector::check(&spec["selector"], Path::Field(&at, "selector"), errors);
    }
    if old.is_none() && !spec["selector"].is_null() {
        let labels = &spec["template"]["metadata"]["labels"];
        if !windtunnel_core::selector::selector_matches(&spec["selector"], labels) {
            let template = Path::Field(&at, "template");
            let metadata = Path::Field(&template, "metadata");
            let why = "`selector` does not match template `labels`";
            errors.invalid_map(Path::Field(&metadata, "labels"), labels, why);
        }
    }
    let Some(old) = old else { return };
    update(spec, &old["spec"], &old["status"], errors);
}

/// Rejects changes that an update of a job must not make (`ValidateJobSpecUpdate`).
fn update(spec: &Value, old: &Value, status: &Value, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    // An indexed job may be resized together with its parallelism.
    let resized = spec["completionMode"] == "Indexed"
        && !spec["completions"].is_null()
        && spec["completions"] == spec["parallelism"];
    if !resized {
        immutable(&spec["completions"], Some(&old["completions"]), Path::Field(&at, "completions"), errors);
    }
    for field in [
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        immutable(&spec[field], Some(&old[field]), Path::Field(&at, field), errors);
    }
    // Until it starts, the scheduling fields of a suspended job may change.
    let waiting = old["suspend"] == true && status["startTime"].is_null();
    let same = if waiting {
        without_scheduling_fields(&spec["template"]) == without_scheduling_fields(&old["template"])
    } else {
        spec["template"] == old["template"]
    };
    if !same {
        errors.invalid(Path::Field(&at, "template"), spec["template"].clone(), "field is immutable");
    }
}

/// A template without labels, annotations and the fields that affect scheduling.
fn without_scheduling_fields(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
        metadata.remove("labels");
    }
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        for field in ["affinity", "nodeSelector", "tolerations", "schedulingGates"] {
            spec.remove(field);
        }
    }
    template
}

fn job_spec(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
    {
        non_negative(&spec[field], Path::Field(&at, field), errors);
    }
    if spec["completionMode"] == "Indexed" && spec["completions"].is_null() {
        let why = "when completion mode is Indexed";
        errors.required(Path::Field(&at, "completions"), why);
    }
    let template = Path::Field(&at, "template");
    let inner = Path::Field(&template, "spec");
    pod::spec(&spec["template"]["spec"], inner, errors);
    let policy = text(&spec["template"]["spec"]["restartPolicy"]);
    if policy == "Always" {
        errors.unsupported(Path::Field(&inner, "restartPolicy"), policy, &["OnFailure", "Never"]);
    }
}

pub(in crate::kinds::validation) fn cron_job(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    schedule(&spec["schedule"], Path::Field(&at, "schedule"), errors);
    for field in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        non_negative(&spec[field], Path::Field(&at, field), errors);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(&spec["concurrencyPolicy"], &policies, Path::Field(&at, "concurrencyPolicy"), errors);
    let template = Path::Field(&at, "jobTemplate");
    job_spec(&spec["jobTemplate"]["spec"], Path::Field(&template, "spec"), errors);
    let name = text(&object["metadata"]["name"]);
    if name.len() > 52 {
        let metadata = Path::Field(&Path::Root, "metadata");
        errors.invalid(Path::Field(&metadata, "name"), name, "must be no more than 52 characters");
    }
}

fn schedule(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let given = text(value);
    if absent(value) {
        errors.required(at, "");
        return;
    }
    if given.starts_with('@') {
        return;
    }
    let fields: Vec<&str> = given.split_whitespace().collect();
    if fields.len() != 5 {
        errors.invalid(
            at,
            given,
            format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")),
        );
        return;
    }
    for field in fields {
        let plain = field.bytes().all(|b| b.is_ascii_alphanumeric() || b"*/,-?".contains(&b));
        if !plain {
            errors.invalid(
                at,
                given,
                format!(
                    "failed to parse int from {field}: strconv.Atoi: parsing \"{field}\": invalid syntax"
                ),
            );
        }
    }
}
