//! The log of a pod: its own lines, and those of its workload, whose program is simulated outside its pods.

use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::log::LogLine;
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, pod};

use super::Logs;

/// The lines of a container, oldest first: its own, and those that the program of its workload has printed since the pod
/// exists. `None` if it has no log.
pub(in crate::engine) fn lines(
    logs: &Logs,
    pod: &Object,
    container: &str,
    previous: bool,
) -> Option<Vec<LogLine>> {
    let of_pod = |name: &str, previous: bool| -> Option<Vec<LogLine>> {
        let key = PODS.key(pod.namespace(), name);
        logs.lines(&key, container, previous).map(|lines| lines.cloned().collect())
    };
    let own = of_pod(pod.name(), previous);
    let workload = workload_log(pod).filter(|_| !previous);
    let Some(more) = workload.and_then(|name| of_pod(&name, false)) else { return own };
    let created = parse_rfc3339(pod.text("/metadata/creationTimestamp")).unwrap_or(Time::MIN);
    let mut lines = own.unwrap_or_default();
    lines.extend(more.into_iter().filter(|line| line.at >= created));
    lines.sort_by_key(|line| line.at);
    Some(lines)
}

/// The name of the log of a pod's workload: the Deployment, or the DaemonSet with its node.
fn workload_log(pod: &Object) -> Option<String> {
    let owner = pod.list("/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true)?;
    let name = text(owner, "name");
    match text(owner, "kind") {
        "DaemonSet" => Some(format!("{name}-{}", pod::node_name(pod))),
        "ReplicaSet" => {
            let hash = pod.label("pod-template-hash")?;
            name.strip_suffix(hash)?.strip_suffix('-').map(str::to_owned)
        }
        _ => None,
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::runtime::logs::IsRecorded;

    fn pod(owner: &str, name: &str) -> Object {
        let owner = json!({ "kind": owner, "name": name, "controller": true });
        let labels = json!({ "pod-template-hash": "x1" });
        Object::new(json!({
            "metadata": {
                "namespace": "ns", "name": "p", "labels": labels, "ownerReferences": [owner],
                "creationTimestamp": "2024-01-15T08:00:00Z",
            },
            "spec": { "nodeName": "worker-0" },
        }))
    }

    #[test]
    fn pods_have_the_lines_of_their_workload_since_they_exist() {
        let mut logs = Logs::default();
        let at = |minute: i64| Time::from_second(1_705_305_600 + 60 * minute).unwrap();
        for (name, minute, line) in
            [("a", -1, "too old"), ("a", 2, "second"), ("d-worker-0", 1, "of a daemon")]
        {
            logs.print(&PODS.key("ns", name), "c", line, at(minute), IsRecorded::No);
        }
        let read = |logs: &Logs, pod: &Object| {
            lines(logs, pod, "c", false)
                .map(|lines| lines.into_iter().map(|line| line.text).collect::<Vec<_>>())
        };
        assert_eq!(read(&logs, &pod("ReplicaSet", "a-x1")).unwrap(), ["second"]);
        logs.print(&PODS.key("ns", "p"), "c", "first", at(0), IsRecorded::No);
        assert_eq!(read(&logs, &pod("ReplicaSet", "a-x1")).unwrap(), ["first", "second"]);
        assert_eq!(read(&logs, &pod("DaemonSet", "d")).unwrap(), ["first", "of a daemon"]);
        assert_eq!(read(&logs, &pod("Job", "a")).unwrap(), ["first"]);
        assert_eq!(read(&Logs::default(), &pod("Job", "a")), None);
    }
}
