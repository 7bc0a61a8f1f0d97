//! Events about the scheduling of pods, which the scheduler writes in the form of `events.k8s.io`.

use serde_json::json;
use windtunnel_core::clock::{Time, rfc3339_micro};
use windtunnel_core::resources::EVENTS;
use windtunnel_core::{Object, Write};

use super::DEFAULT;

/// The most bytes of a message.
const MESSAGE_MAX: usize = 1024;

/// The Event about a pod that is bound to `node`.
pub(super) fn scheduled(pod: &Object, node: &str, now: Time) -> Write {
    let message = format!("Successfully assigned {}/{} to {node}", pod.namespace(), pod.name());
    event(pod, ["Normal", "Scheduled", "Binding"], &message, now)
}

/// The Event about a pod that fits no node.
pub(super) fn failed(pod: &Object, why: &str, now: Time) -> Write {
    event(pod, ["Warning", "FailedScheduling", "Scheduling"], &truncated(why), now)
}

fn event(pod: &Object, [kind, reason, action]: [&str; 3], message: &str, now: Time) -> Write {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{}.{:x}", pod.name(), now.as_nanosecond()),
            "namespace": pod.namespace(),
        },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.name(),
            "namespace": pod.namespace(),
            "resourceVersion": pod.resource_version(),
            "uid": pod.uid(),
        },
        "type": kind,
        "reason": reason,
        "action": action,
        "message": message,
        "eventTime": rfc3339_micro(now),
        "reportingComponent": DEFAULT,
        "reportingInstance": format!("{DEFAULT}-kube-scheduler"),
        "source": {},
    });
    Write::create(&EVENTS, object)
}

fn truncated(message: &str) -> String {
    const REST: &str = " ...";
    if message.len() <= MESSAGE_MAX {
        return message.to_owned();
    }
    let mut end = MESSAGE_MAX - REST.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{REST}", &message[..end])
}
