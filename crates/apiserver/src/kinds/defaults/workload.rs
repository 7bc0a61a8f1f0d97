//! Defaults of controllers of pods: apps, batch and autoscaling.

use serde_json::{Value, json};

use super::{Fields, each, made, pod, set, within};
use crate::profile::since;

pub(super) fn deployment(object: &mut Fields, _minor: u32) {
    let Some(spec) = within(object, "spec") else { return };
    pod::template(spec);
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set(spec, "progressDeadlineSeconds", 600);
    let Some(strategy) = made(spec, "strategy") else { return };
    set(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        set(rolling, "maxUnavailable", "25%");
        set(rolling, "maxSurge", "25%");
    }
}

pub(super) fn daemon_set(object: &mut Fields, _minor: u32) {
    let Some(spec) = within(object, "spec") else { return };
    pod::template(spec);
    set(spec, "revisionHistoryLimit", 10);
    let Some(strategy) = made(spec, "updateStrategy") else { return };
    set(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = made(strategy, "rollingUpdate")
    {
        set(rolling, "maxUnavailable", 1);
        set(rolling, "maxSurge", 0);
    }
}

pub(super) fn replica_set(object: &mut Fields, _minor: u32) {
    let Some(spec) = within(object, "spec") else { return };
    pod::template(spec);
    set(spec, "replicas", 1);
}

pub(super) fn replication_controller(object: &mut Fields, _minor: u32) {
    let labels = object.get("spec").map(|spec| spec["template"]["metadata"]["labels"].clone());
    let Some(spec) = within(object, "spec") else { return };
    pod::template(spec);
    set(spec, "replicas", 1);
    let Some(labels @ Value::Object(_)) = labels else { return };
    set(spec, "selector", labels.clone());
    if let Some(metadata) = made(object, "metadata") {
        set(metadata, "labels", labels);
    }
}

pub(super) fn stateful_set(object: &mut Fields, minor: u32) {
    let Some(spec) = within(object, "spec") else { return };
    pod::template(spec);
    set(spec, "podManagementPolicy", "OrderedReady");
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = made(spec, "updateStrategy") {
        if strategy.get("type").is_none() {
            set(strategy, "type", "RollingUpdate");
            set(strategy, "rollingUpdate", json!({}));
        }
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = within(strategy, "rollingUpdate")
        {
            set(rolling, "partition", 0);
        }
    }
    if minor >= since::CLAIM_RETENTION
        && let Some(retention) = made(spec, "persistentVolumeClaimRetentionPolicy")
    {
        set(retention, "whenDeleted", "Retain");
        set(retention, "whenScaled", "Retain");
    }
    for claim in each(spec, "volumeClaimTemplates") {
        set(claim, "apiVersion", "v1");
        set(claim, "kind", "PersistentVolumeClaim");
        super::volume::claim(claim, minor);
    }
}

pub(super) fn job(object: &mut Fields, minor: u32) {
    let labels = object.get("spec").map(|spec| spec["template"]["metadata"]["labels"].clone());
    let Some(spec) = within(object, "spec") else { return };
    pod::template(spec);
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        set(spec, "completions", 1);
    }
    set(spec, "parallelism", 1);
    let per_index = spec.contains_key("backoffLimitPerIndex");
    set(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    if minor >= since::JOB_MANUAL_SELECTOR {
        set(spec, "manualSelector", false);
    }
    if minor >= since::JOB_REPLACEMENT_POLICY {
        let policy = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        set(spec, "podReplacementPolicy", policy);
    }
    if let Some(policy) = within(spec, "podFailurePolicy") {
        for rule in each(policy, "rules") {
            for pattern in each(rule, "onPodConditions") {
                set(pattern, "status", "True");
            }
        }
    }
    if let Some(labels @ Value::Object(_)) = labels
        && let Some(metadata) = made(object, "metadata")
    {
        set(metadata, "labels", labels);
    }
}

pub(super) fn cron_job(object: &mut Fields, _minor: u32) {
    let Some(spec) = within(object, "spec") else { return };
    set(spec, "concurrencyPolicy", "Allow");
    set(spec, "suspend", false);
    set(spec, "successfulJobsHistoryLimit", 3);
    set(spec, "failedJobsHistoryLimit", 1);
    if let Some(template) = within(spec, "jobTemplate")
        && let Some(job) = within(template, "spec")
    {
        pod::template(job);
    }
}

pub(super) fn autoscaler(object: &mut Fields, _minor: u32) {
    let Some(spec) = within(object, "spec") else { return };
    set(spec, "minReplicas", 1);
    let is_v1 = object.get("apiVersion").is_some_and(|version| version == "autoscaling/v1");
    let Some(spec) = within(object, "spec") else { return };
    if is_v1 {
        set(spec, "targetCPUUtilizationPercentage", 80);
        return;
    }
    let target = json!({ "type": "Utilization", "averageUtilization": 80 });
    set(spec, "metrics", json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]));
}
