//! Validation of the selector that the server generates for a Job.

use serde_json::{Value, json};

use crate::kinds::validation::{Errors, Path, selector, text};
use crate::profile::since;

/// Requires the labels and the selector that identify the pods of a Job, unless the user selects them
/// (`validateGeneratedSelector`).
pub(super) fn generated(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let spec = &object["spec"];
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return;
    }
    let uid = text(&object["metadata"]["uid"]);
    if uid.is_empty() {
        errors.required(Path::Root.child("metadata").child("uid"), "");
    }
    let had = |old: &Value, label: &str| old["spec"]["template"]["metadata"]["labels"].get(label).is_some();
    let is_prefixed = errors.profile.minor >= since::JOB_LABEL_PREFIX
        && old.is_none_or(|old| {
            had(old, "batch.kubernetes.io/job-name") && had(old, "batch.kubernetes.io/controller-uid")
        });
    let name = text(&object["metadata"]["name"]);
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let expected = &expected[..if is_prefixed { 4 } else { 2 }];
    for (label, value) in expected {
        has_label(&spec["template"], label, value, errors);
    }
    let labels = json!(expected.iter().copied().collect::<std::collections::BTreeMap<_, _>>());
    let is_convertible = windtunnel_core::selector::is_valid(&spec["selector"]);
    if is_convertible && !windtunnel_core::selector::selector_matches(&spec["selector"], &labels) {
        let at = Path::Root.child("spec");
        selector::invalid(&spec["selector"], at.child("selector"), "`selector` not auto-generated", errors);
    }
}

/// Requires a label of a template (`ValidateHasLabel`).
fn has_label(template: &Value, label: &str, value: &str, errors: &mut Errors<'_>) {
    let spec = Path::Root.child("spec");
    let (template_at, labels) = (spec.child("template"), &template["metadata"]["labels"]);
    let metadata = template_at.child("metadata");
    let at = metadata.child("labels");
    let why = || format!("must be '{value}'");
    match labels[label].as_str() {
        None => errors.required(at.key(label), &why()),
        Some(given) if given != value => errors.invalid_map(at.key(label), labels, &why()),
        Some(_) => {}
    }
}
