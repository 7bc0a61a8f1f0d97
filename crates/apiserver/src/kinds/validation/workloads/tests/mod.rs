//! Tests of the rules for workloads: patches of a valid object, and the errors that they cause.

mod apps;
mod autoscalers;
mod cron_jobs;
mod job_status;
mod jobs;

use serde_json::{Value, json};

/// A template of a pod with the defaults that matter to validation.
fn template(restart_policy: &str) -> Value {
    json!({
        "metadata": { "labels": { "a": "b" } },
        "spec": {
            "containers": [{
                "name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File",
                "terminationMessagePath": "/dev/termination-log", "resources": {},
            }],
            "restartPolicy": restart_policy, "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "schedulerName": "default-scheduler", "securityContext": {},
        },
    })
}
