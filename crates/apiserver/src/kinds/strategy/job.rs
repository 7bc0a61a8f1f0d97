//! New jobs: sets the selector and the labels of the pods that it selects (`generateSelector`).

use serde_json::{Value, json};

use super::object_at;
use crate::metadata;
use crate::profile::since;

pub(super) fn prepare_create(job: &mut Value, minor: u32) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (metadata::text(job, "uid").to_owned(), metadata::text(job, "name").to_owned());
    let prefixed = minor >= since::JOB_LABEL_PREFIX;
    if let Some(labels) = object_at(job, &["spec", "template", "metadata", "labels"]) {
        for (label, value) in [("controller-uid", &uid), ("job-name", &name)] {
            // Validation rejects labels of the user with other values.
            labels.entry(label.to_owned()).or_insert_with(|| json!(value));
            if prefixed {
                let label = format!("batch.kubernetes.io/{label}");
                labels.entry(label).or_insert_with(|| json!(value));
            }
        }
    }
    let key = if prefixed { "batch.kubernetes.io/controller-uid" } else { "controller-uid" };
    if let Some(selector) = object_at(job, &["spec", "selector", "matchLabels"]) {
        selector.entry(key.to_owned()).or_insert_with(|| json!(uid));
    }
}

/// Sets missing labels to those of the template, as defaulting does whenever the job is read.
pub(super) fn label(job: &mut Value) {
    if job["metadata"]["labels"].is_null() && !job["spec"]["template"]["metadata"]["labels"].is_null() {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
    }
}
