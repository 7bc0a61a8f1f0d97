//! New jobs: sets the selector and the labels of the pods that it selects (`generateSelector`).

use serde_json::{Value, json};

use super::{Context, object_at};
use crate::metadata;
use crate::profile::since;

pub(super) fn prepare_create(job: &mut Value, context: Context<'_>) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (metadata::text(job, "uid").to_owned(), metadata::text(job, "name").to_owned());
    let prefixed = context.minor >= since::JOB_LABEL_PREFIX;
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
    if context.shares_labels {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
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

#[cfg(test)]
mod tests {
    use windtunnel_core::Identity;
    use windtunnel_core::clock::Time;

    use super::*;

    #[test]
    fn labels_that_come_from_the_template_get_its_generated_ones() {
        let user = Identity::admin();
        for shares_labels in [true, false] {
            let mut job = json!({
                "metadata": { "name": "j", "uid": "u", "labels": { "a": "b" } },
                "spec": { "template": { "metadata": { "labels": { "a": "b" } } } },
            });
            prepare_create(
                &mut job,
                Context { minor: 36, now: Time::UNIX_EPOCH, user: &user, shares_labels },
            );
            assert_eq!(job["spec"]["template"]["metadata"]["labels"]["job-name"], "j");
            assert_eq!(job["metadata"]["labels"]["job-name"] == "j", shares_labels, "{job}");
        }
    }
}
