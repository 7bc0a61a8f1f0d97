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
            labels.insert(label.to_owned(), json!(value));
            if prefixed {
                labels.insert(format!("batch.kubernetes.io/{label}"), json!(value));
            }
        }
    }
    let key = if prefixed { "batch.kubernetes.io/controller-uid" } else { "controller-uid" };
    if let Some(selector) = object_at(job, &["spec", "selector", "matchLabels"]) {
        selector.insert(key.to_owned(), json!(uid));
    }
    // Defaulting on reads sets missing labels to those of the template.
    if job["metadata"]["labels"].is_null() {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
    }
}
