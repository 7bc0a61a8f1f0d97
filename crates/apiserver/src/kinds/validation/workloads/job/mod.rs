//! Validation of Jobs (`pkg/apis/batch/validation`).

mod failure_policy;
mod indexes;
pub(in crate::kinds::validation) mod job_status;
pub(super) mod limits;
mod selection;
mod success_policy;
mod update;

use serde_json::Value;

use crate::kinds::validation::workloads::template;
use crate::kinds::validation::{Errors, Path, items, non_negative, selector, text};
use crate::names;

/// Fields with a number that must not be negative.
const NUMBERS: [&str; 7] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];
const REPLACEMENT_POLICIES: [&str; 2] = ["Failed", "TerminatingOrFailed"];
const MOST_MANAGER: usize = 63;
const DOMAIN_PATH: &str = "must be a domain-prefixed path (such as \"acme.io/foo\")";
const HTTP_PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/// Validates a Job (`ValidateJob`, `ValidateJobUpdate`).
pub(in crate::kinds::validation) fn job(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    selection::generated(object, old, errors);
    selected_spec(&object["spec"], at, errors);
    host_names(object, errors);
    if let Some(old) = old {
        // A real server validates an updated specification twice, which shows in the causes.
        selected_spec(&object["spec"], at, errors);
        update::check(object, old, errors);
    }
}

/// Validates a specification with its selector (`ValidateJobSpec`).
fn selected_spec(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    self::spec(spec, at, errors);
    let (choice, place) = (&spec["selector"], at.child("selector"));
    if choice.is_null() {
        errors.required(place, "");
        template::matches(spec, at, errors);
        return;
    }
    let before = errors.found.len();
    selector::check(choice, place, errors);
    if errors.found.len() == before {
        template::matches(spec, at, errors);
    }
}

/// Validates a specification without its selector, also of a CronJob (`validateJobSpec`).
pub(super) fn spec(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in NUMBERS {
        non_negative(&spec[field], at.child(field), errors);
    }
    if let Some(manager) = spec["managedBy"].as_str() {
        managed_by(manager, at.child("managedBy"), errors);
    }
    limits::check(spec, at, errors);
    if !spec["podFailurePolicy"].is_null() {
        failure_policy::check(spec, at.child("podFailurePolicy"), errors);
    }
    if !spec["successPolicy"].is_null() {
        success_policy::check(spec, at.child("successPolicy"), errors);
    }
    replacement_policy(spec, at.child("podReplacementPolicy"), errors);
    let place = at.child("template");
    template::check(&spec["template"], place, errors);
    restart_policy(spec, place.child("spec").child("restartPolicy"), errors);
}

/// Whether a Job has an index for each completion.
fn is_indexed(spec: &Value) -> bool {
    spec["completionMode"] == "Indexed"
}

/// Requires a path with a domain (`IsDomainPrefixedPath`).
fn managed_by(manager: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    match manager.split_once('/') {
        _ if manager.is_empty() => errors.required(at, ""),
        Some((host, path)) if !host.is_empty() && !path.is_empty() => {
            errors.each(at, host, names::subdomain(host));
            let is_plain =
                path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b));
            if !is_plain {
                errors.invalid(at, path, HTTP_PATH);
            }
        }
        _ => errors.invalid(at, manager, DOMAIN_PATH),
    }
    if manager.len() > MOST_MANAGER {
        errors.too_long(at, MOST_MANAGER as u64);
    }
}

fn replacement_policy(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(policy) = spec["podReplacementPolicy"].as_str() else { return };
    let known: &[&str] =
        if spec["podFailurePolicy"].is_null() { &REPLACEMENT_POLICIES } else { &REPLACEMENT_POLICIES[..1] };
    if !known.contains(&policy) {
        errors.unsupported(at, policy, known);
    }
}

/// Requires that pods end. `Always`, the default policy of a template, counts as absent.
fn restart_policy(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(&spec["template"]["spec"]["restartPolicy"]) {
        "Never" => {}
        "OnFailure" if spec["podFailurePolicy"].is_null() => {}
        "OnFailure" => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.invalid(at, "OnFailure", why);
        }
        "" | "Always" => errors.required(at, "valid values: \"OnFailure\", \"Never\""),
        other => errors.unsupported(at, other, &["OnFailure", "Never"]),
    }
}

/// Requires that the host names of the pods of an indexed Job are labels.
fn host_names(object: &Value, errors: &mut Errors<'_>) {
    let spec = &object["spec"];
    let last = spec["completions"].as_i64().filter(|count| is_indexed(spec) && *count > 0);
    let Some(last) = last.map(|count| count - 1) else { return };
    let name = text(&object["metadata"]["name"]);
    let host = format!("{name}-{last}");
    if !names::label(&host).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {host}");
        errors.invalid(Path::Root.child("metadata").child("name"), name, why);
    }
}

/// The values of a list field that are text.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    items(list).iter().map(text)
}
