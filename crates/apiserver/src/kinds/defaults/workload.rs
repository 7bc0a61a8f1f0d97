//! Defaults of controllers of pods: apps and batch.

use serde_json::{Value, json};

use super::{Fields, get_or_create, object_in, objects_in_list, pod, set_default};
use crate::profile::since;

pub(super) fn deployment(object: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(object, "spec") else { return };
    pod::template(spec);
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    let Some(strategy) = get_or_create(spec, "strategy") else { return };
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = get_or_create(strategy, "rollingUpdate")
    {
        set_default(rolling, "maxUnavailable", "25%");
        set_default(rolling, "maxSurge", "25%");
    }
}

pub(super) fn daemon_set(object: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(object, "spec") else { return };
    pod::template(spec);
    set_default(spec, "revisionHistoryLimit", 10);
    let Some(strategy) = get_or_create(spec, "updateStrategy") else { return };
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = get_or_create(strategy, "rollingUpdate")
    {
        set_default(rolling, "maxUnavailable", 1);
        set_default(rolling, "maxSurge", 0);
    }
}

pub(super) fn replica_set(object: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(object, "spec") else { return };
    pod::template(spec);
    set_default(spec, "replicas", 1);
}

pub(super) fn replication_controller(object: &mut Fields, _minor: u32) {
    let labels = object.get("spec").map(|spec| spec["template"]["metadata"]["labels"].clone());
    let Some(spec) = object_in(object, "spec") else { return };
    pod::template(spec);
    set_default(spec, "replicas", 1);
    let Some(labels @ Value::Object(_)) = labels else { return };
    set_default(spec, "selector", labels.clone());
    if let Some(metadata) = get_or_create(object, "metadata") {
        set_default(metadata, "labels", labels);
    }
}

pub(super) fn stateful_set(object: &mut Fields, minor: u32) {
    let Some(spec) = object_in(object, "spec") else { return };
    pod::template(spec);
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = get_or_create(spec, "updateStrategy") {
        if strategy.get("type").is_none() {
            set_default(strategy, "type", "RollingUpdate");
            set_default(strategy, "rollingUpdate", json!({}));
        }
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = object_in(strategy, "rollingUpdate")
        {
            set_default(rolling, "partition", 0);
        }
    }
    if minor >= since::CLAIM_RETENTION
        && let Some(retention) = get_or_create(spec, "persistentVolumeClaimRetentionPolicy")
    {
        set_default(retention, "whenDeleted", "Retain");
        set_default(retention, "whenScaled", "Retain");
    }
    for claim in objects_in_list(spec, "volumeClaimTemplates") {
        // The server does not keep the type that a client gives.
        claim.insert("apiVersion".to_owned(), json!("v1"));
        claim.insert("kind".to_owned(), json!("PersistentVolumeClaim"));
        super::volume::claim(claim, minor);
    }
}

pub(super) fn job(object: &mut Fields, minor: u32) {
    let labels = object.get("spec").map(|spec| spec["template"]["metadata"]["labels"].clone());
    let Some(spec) = object_in(object, "spec") else { return };
    pod::template(spec);
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        set_default(spec, "completions", 1);
    }
    set_default(spec, "parallelism", 1);
    let per_index = spec.contains_key("backoffLimitPerIndex");
    set_default(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    if minor >= since::JOB_MANUAL_SELECTOR {
        set_default(spec, "manualSelector", false);
    }
    if minor >= since::JOB_REPLACEMENT_POLICY {
        let policy = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        set_default(spec, "podReplacementPolicy", policy);
    }
    if let Some(policy) = object_in(spec, "podFailurePolicy") {
        for rule in objects_in_list(policy, "rules") {
            for pattern in objects_in_list(rule, "onPodConditions") {
                // Decoding an absent status makes it empty.
                if pattern.get("status").is_none_or(|status| *status == json!("")) {
                    pattern.insert("status".to_owned(), json!("True"));
                }
            }
        }
    }
    if let Some(labels @ Value::Object(_)) = labels
        && let Some(metadata) = get_or_create(object, "metadata")
    {
        set_default(metadata, "labels", labels);
    }
}

pub(super) fn cron_job(object: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(object, "spec") else { return };
    set_default(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3);
    set_default(spec, "failedJobsHistoryLimit", 1);
    if let Some(template) = object_in(spec, "jobTemplate")
        && let Some(job) = object_in(template, "spec")
    {
        pod::template(job);
    }
}
