//! One-line descriptions of writes.

use windtunnel_core::{Object, Operation, Rejection, Write, resources};

/// Describes a write: its verb, its object, and the resulting status or the reason of the rejection.
pub(super) fn describe(write: &Write, outcome: Result<&Object, &Rejection>) -> String {
    let result = match outcome {
        Ok(object) => result_text(write, object),
        Err(rejection) => rejection.reason.clone(),
    };
    let name = outcome.map_or(write.name.as_str(), Object::name);
    format!("{} {} {result}", write.verb(), write.resource.key(&write.namespace, name)).trim_end().to_owned()
}

fn result_text(write: &Write, object: &Object) -> String {
    if matches!(write.operation, Operation::Delete(_) | Operation::Create(_)) {
        return String::new();
    }
    if write.resource == resources::PODS {
        return format!("{} {}", object.text("/status/phase"), pod_status(object));
    }
    let conditions = object.list("/status/conditions").iter().map(|condition| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        format!("{}={} {} {}", text("type"), text("status"), text("reason"), text("message"))
            .trim_end()
            .to_owned()
    });
    conditions.collect::<Vec<_>>().join("; ")
}

/// The states of a pod's containers, such as `cleanup:Completed main:PodInitializing`.
fn pod_status(pod: &Object) -> String {
    let all = pod.list("/status/initContainerStatuses").iter().chain(pod.list("/status/containerStatuses"));
    let states = all.map(|status| {
        let name = status["name"].as_str().unwrap_or_default();
        let (kind, state) = status["state"].as_object().unwrap().iter().next().unwrap();
        format!("{name}:{}", state["reason"].as_str().unwrap_or(kind))
    });
    states.collect::<Vec<_>>().join(" ")
}
