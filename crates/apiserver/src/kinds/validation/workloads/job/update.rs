//! Changes that an update of a Job must not make (`ValidateJobSpecUpdate`).

use serde_json::{Map, Value};

use super::{failure_policy, is_indexed, success_policy};
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, Path, immutable, items, selector};
use crate::profile::since;

/// Formats a policy as JSON of its internal type.
type Show = fn(&Value) -> String;

pub(super) fn check(object: &Value, old: &Value, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let (spec, before) = (&object["spec"], &old["spec"]);
    completions(spec, before, at.child("completions"), errors);
    selector::immutable(&spec["selector"], Some(&before["selector"]), at.child("selector"), errors);
    template(spec, old, at, errors);
    for field in ["completionMode", "backoffLimitPerIndex", "managedBy"] {
        immutable(&spec[field], Some(&before[field]), at.child(field), errors);
    }
    let policies: [(&str, Show); 2] =
        [("podFailurePolicy", failure_policy::shown), ("successPolicy", success_policy::shown)];
    for (field, show) in policies.into_iter().filter(|(field, _)| spec[*field] != before[*field]) {
        let json = show(&spec[field]);
        errors.invalid_shown(at.child(field), json.clone(), json, "field is immutable");
    }
}

/// An indexed Job may be resized together with its parallelism (`validateCompletions`).
fn completions(spec: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (new, before) = (&spec["completions"], &old["completions"]);
    if !is_indexed(spec) {
        immutable(new, Some(before), at, errors);
    } else if new != before && !new.is_null() && *new != spec["parallelism"] {
        errors.invalid(at, new.clone(), "can only be modified in tandem with spec.parallelism");
    }
}

/// Until a suspended Job starts, the labels, the annotations and the fields that affect scheduling may change, and
/// in newer minors the resources of its containers (`validatePodTemplateUpdate`).
fn template(spec: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (new, before) = (&spec["template"], &old["spec"]["template"]);
    if new == before {
        return;
    }
    let is_new = errors.profile.minor >= since::MUTABLE_SUSPENDED_JOBS;
    let may_schedule = if is_new { is_idle(old) } else { is_unstarted(old) };
    let mut allowed = before.clone();
    if may_schedule {
        take_scheduling_fields(&mut allowed, new);
    }
    if is_new && old["spec"]["suspend"] == true && is_idle(old) {
        take_resources(&mut allowed["spec"], &new["spec"]);
        // A real server compares only the specifications here.
        if allowed["spec"] != new["spec"] {
            fixed(&new["spec"], "PodSpec", at.child("template.spec"), errors);
        }
    } else if allowed != *new {
        fixed(new, "PodTemplateSpec", at.child("template"), errors);
    }
}

/// Rejects a changed value of an internal type.
fn fixed(new: &Value, type_name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let shown = internal_form(new, type_name);
    errors.invalid_shown(at, shown.clone(), shown, "field is immutable");
}

fn is_unstarted(job: &Value) -> bool {
    job["spec"]["suspend"] == true && job["status"]["startTime"].is_null()
}

/// Whether a Job is suspended and has no pods (`shouldAllowMutablePodTemplate`).
fn is_idle(job: &Value) -> bool {
    let status = &job["status"];
    let mut conditions = items(&status["conditions"]).iter();
    let has_condition = conditions.any(|one| one["type"] == "Suspended" && one["status"] == "True");
    let is_stopped = status["startTime"].is_null() || has_condition;
    job["spec"]["suspend"] == true && is_stopped && status["active"].as_i64().unwrap_or(0) == 0
}

fn take_scheduling_fields(template: &mut Value, new: &Value) {
    if let Some(metadata) = template["metadata"].as_object_mut() {
        take(metadata, &new["metadata"], &["annotations", "labels"]);
    }
    let Some(spec) = template["spec"].as_object_mut() else { return };
    take(spec, &new["spec"], &["nodeSelector", "tolerations", "schedulingGates"]);
    let affinity = &new["spec"]["affinity"];
    let mut kept = spec.remove("affinity").unwrap_or(Value::Null);
    if affinity.is_object() && kept.is_null() {
        kept = Value::Object(Map::new());
    }
    if let Some(fields) = kept.as_object_mut() {
        take(fields, affinity, &["nodeAffinity"]);
        if !fields.is_empty() || affinity.is_object() {
            spec.insert("affinity".to_owned(), kept);
        }
    }
}

/// Copies fields from another object, or removes those that are absent there.
fn take(fields: &mut Map<String, Value>, from: &Value, names: &[&str]) {
    for name in names {
        match from.get(*name) {
            Some(value) => fields.insert((*name).to_owned(), value.clone()),
            None => fields.remove(*name),
        };
    }
}

/// Copies the resources of containers that have the same name at the same place.
fn take_resources(spec: &mut Value, new: &Value) {
    for list in ["containers", "initContainers"] {
        let Some(containers) = spec.get_mut(list).and_then(Value::as_array_mut) else { continue };
        let news = items(&new[list]);
        for (container, new) in
            containers.iter_mut().zip(news).filter(|(old, new)| old["name"] == new["name"])
        {
            if let Some(fields) = container.as_object_mut() {
                take(fields, new, &["resources"]);
            }
        }
    }
}
