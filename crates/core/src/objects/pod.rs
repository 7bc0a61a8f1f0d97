//! The fields of a Pod, and its status as `kubectl get pods` shows it.

use serde_json::Value;

use super::condition;
use super::object::text_at;
use crate::Object;

/// The annotation of mirror pods, which represent static pods that a kubelet runs from a file.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// `spec.nodeName`; empty until the pod is bound.
pub fn node_name(pod: &Value) -> &str {
    text_at(pod, "/spec/nodeName")
}

/// `status.phase`; empty if there is none.
pub fn phase(pod: &Value) -> &str {
    text_at(pod, "/status/phase")
}

/// Whether no container of the pod runs again: its phase is `Succeeded` or `Failed`.
pub fn has_ended(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// The STATUS column of kubectl's pod printer: the reason or phase of the pod, overridden by the reasons of
/// its init containers or containers, overridden by its deletion.
pub fn status_column(pod: &Object) -> String {
    let status = &pod["status"];
    let own = Some(pod.text("/status/reason")).filter(|reason| !reason.is_empty());
    let mut text = own.unwrap_or(phase(pod)).to_owned();
    if condition::find_in_status(pod, "PodScheduled")
        .is_some_and(|found| found["reason"] == "SchedulingGated")
    {
        "SchedulingGated".clone_into(&mut text);
    }
    let initializing = initializing(pod);
    let initialized = initializing.is_none() || condition::is_true(pod, "Initialized");
    text = initializing.unwrap_or(text);
    if initialized {
        text = containers_reason(pod, text);
    }
    if pod.is_terminating() {
        let gone = if status["reason"] == "NodeLost" { "Unknown" } else { "Terminating" };
        gone.clone_into(&mut text);
    }
    text
}

/// The status of the first init container that has not completed; `None` if all have.
fn initializing(pod: &Object) -> Option<String> {
    let specs = pod.list("/spec/initContainers");
    let statuses = pod.list("/status/initContainerStatuses");
    let restartable =
        |name: &Value| specs.iter().any(|spec| spec["name"] == *name && spec["restartPolicy"] == "Always");
    let through = |container: &Value| {
        container["state"]["terminated"]["exitCode"] == 0
            || (restartable(&container["name"]) && container["started"] == true)
    };
    let (index, container) = statuses.iter().enumerate().find(|(_, container)| !through(container))?;
    let state = &container["state"];
    let waiting =
        state["waiting"]["reason"].as_str().filter(|reason| !matches!(*reason, "" | "PodInitializing"));
    let text = match (ended(&state["terminated"]), waiting) {
        (Some(ended), _) => ended,
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => format!("{index}/{}", specs.len()),
    };
    Some(format!("Init:{text}"))
}

/// The text of a `terminated` state, if there is one.
fn ended(terminated: &Value) -> Option<String> {
    let fields = terminated.as_object()?;
    let number = |field: &str| fields.get(field).and_then(Value::as_i64).unwrap_or(0);
    let reason = fields.get("reason").and_then(Value::as_str).unwrap_or_default();
    Some(match (reason, number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    })
}

/// The reason of the containers; the first container takes precedence.
fn containers_reason(pod: &Object, own: String) -> String {
    let mut text = own;
    let mut running = false;
    for container in pod.list("/status/containerStatuses").iter().rev() {
        let state = &container["state"];
        let waiting = state["waiting"]["reason"].as_str().filter(|reason| !reason.is_empty());
        if let Some(reason) = waiting {
            reason.clone_into(&mut text);
        } else if let Some(ended) = ended(&state["terminated"]) {
            text = ended;
        } else if container["ready"] == true && state["running"].is_object() {
            running = true;
        }
    }
    if text == "Completed" && running {
        let left = if condition::is_true(pod, "Ready") { "Running" } else { "NotReady" };
        left.clone_into(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pod: Value, expected: &str) {
        let pod = Object::new(pod);
        assert_eq!(status_column(&pod), expected, "{:?}", *pod);
    }

    /// A pending pod with init containers in these states.
    fn init(states: &Value) -> Value {
        let statuses: Vec<Value> = states
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(index, state)| json!({"name": format!("i{index}"), "state": state, "started": true}))
            .collect();
        let specs = json!([{"name": "i0"}, {"name": "i1", "restartPolicy": "Always"}, {"name": "i2"}]);
        json!({"spec": {"initContainers": specs}, "status": {
            "phase": "Pending",
            "initContainerStatuses": statuses,
            "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
        }})
    }

    #[test]
    fn shows_the_first_incomplete_init_container() {
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let done = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        check(init(&json!([waiting("ErrImagePull"), waiting("PodInitializing")])), "Init:ErrImagePull");
        check(init(&json!([waiting("PodInitializing")])), "Init:0/3");
        check(init(&json!([done, {"running": {}}, {"running": {}}])), "Init:2/3");
        check(init(&json!([{"terminated": {"exitCode": 3}}])), "Init:ExitCode:3");
        check(init(&json!([{"terminated": {"exitCode": 137, "signal": 9}}])), "Init:Signal:9");
        check(init(&json!([{"terminated": {"exitCode": 1, "reason": "Error"}}])), "Init:Error");
        check(init(&json!([done, {"running": {}}, done])), "PodInitializing");
    }

    #[test]
    fn shows_containers_once_the_pod_is_initialized() {
        let pod = |phase: &str, states: &Value, ready: &str| {
            let statuses: Vec<Value> =
                states.as_array().unwrap().iter().map(|s| json!({"state": s, "ready": true})).collect();
            json!({"status": {"phase": phase, "containerStatuses": statuses,
                "conditions": [{"type": "Ready", "status": ready}]}})
        };
        let completed = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        check(pod("Running", &json!([{"running": {}}]), "True"), "Running");
        check(
            pod("Running", &json!([{"waiting": {"reason": "CrashLoopBackOff"}}]), "False"),
            "CrashLoopBackOff",
        );
        check(pod("Failed", &json!([{"terminated": {"exitCode": 2}}, completed]), "False"), "ExitCode:2");
        check(pod("Running", &json!([completed, {"running": {}}]), "True"), "Running");
        check(pod("Running", &json!([completed, {"running": {}}]), "False"), "NotReady");
        check(pod("Succeeded", &json!([completed]), "False"), "Completed");
    }

    #[test]
    fn shows_reason_scheduling_gate_and_deletion_of_the_pod() {
        check(json!({"status": {"phase": "Failed", "reason": "Evicted"}}), "Evicted");
        check(json!({"status": {"phase": "Pending"}}), "Pending");
        let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
        check(json!({"status": {"phase": "Pending", "conditions": gated}}), "SchedulingGated");
        let metadata = json!({"deletionTimestamp": "2024-01-01T00:00:00Z"});
        check(json!({"metadata": metadata, "status": {"phase": "Running"}}), "Terminating");
        check(json!({"metadata": metadata, "status": {"reason": "NodeLost"}}), "Unknown");
    }
}
