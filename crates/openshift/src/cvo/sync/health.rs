//! Health checks of applied objects (`cvobuild.checkDeploymentHealth` and similar).

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::condition::{self, Condition};

use super::failure::{FailingEffect, Failure};
use crate::cvo::payload::namespaced_name;

pub(in crate::cvo) enum Health {
    /// It is healthy, or its kind has no health check.
    Good,
    /// It is still in progress, and the operator waits for it.
    Busy,
    Bad(Failure),
}

/// Checks an object of this kind.
pub(in crate::cvo) fn check_object(kind: &str, object: &Object) -> Health {
    match kind {
        "Deployment" => deployment(object).map_or(Health::Good, Health::Bad),
        "CustomResourceDefinition" => definition(object).map_or(Health::Good, Health::Bad),
        "Job" => job(object),
        _ => Health::Good,
    }
}

fn condition_with(object: &Object, kind: &str, status: &str) -> Option<Condition> {
    condition::find_with_status(object, kind, status).map(Condition::from_value)
}

fn bad(reason: &str, name: String, message: String) -> Failure {
    Failure::of_workload(reason, message, FailingEffect::Fail, name)
}

fn deployment(object: &Object) -> Option<Failure> {
    if let Some(failure) = condition_with(object, "ReplicaFailure", "True") {
        let name = namespaced_name(object);
        let message =
            format!("deployment {name} has a replica failure {}: {}", failure.reason, failure.message);
        return Some(bad("WorkloadNotProgressing", name, message));
    }
    let progressing = condition_with(object, "Progressing", "False")?;
    let name = namespaced_name(object);
    if let Some(available) = condition_with(object, "Available", "False") {
        let message = format!(
            "deployment {name} is not available {} ({}) and not progressing {} ({})",
            available.reason, available.message, progressing.reason, progressing.message
        );
        return Some(bad("WorkloadNotAvailable", name, message));
    }
    (progressing.reason == "ProgressDeadlineExceeded").then(|| {
        let message = format!(
            "deployment {name} is Progressing=False: {}: {}",
            progressing.reason, progressing.message
        );
        bad("WorkloadNotProgressing", name, message)
    })
}

fn definition(object: &Object) -> Option<Failure> {
    let name = object.name();
    if condition::is_true(object, "Established") {
        return None;
    }
    let message = match condition::find_in_status(object, "Established").map(Condition::from_value) {
        Some(Condition { reason, message, .. }) => {
            format!("CustomResourceDefinition {name} is not established: {reason}: {message}")
        }
        None => format!("CustomResourceDefinition {name} does not declare an Established status condition"),
    };
    Some(bad("CustomResourceDefinitionNotEstablished", name.to_owned(), message))
}

fn job(object: &Object) -> Health {
    let count = |field: &str| object.number(&format!("/status/{field}")).unwrap_or(0);
    if count("succeeded") > 0 {
        return Health::Good;
    }
    let failed = condition_with(object, "Failed", "True");
    if count("active") > 0 || (count("failed") == 0 && failed.is_none()) {
        return Health::Busy;
    }
    let (reason, message) = failed.map_or_else(
        || ("DeadlineExceeded".to_owned(), "Job was active longer than specified deadline".to_owned()),
        |failed| (failed.reason, failed.message),
    );
    let what = if reason == "DeadlineExceeded" { "deadline exceeded" } else { "job failed" };
    let text = format!("{what}, reason: {}, message: {}", Value::from(reason), Value::from(message));
    Health::Bad(bad("", namespaced_name(object), text))
}
