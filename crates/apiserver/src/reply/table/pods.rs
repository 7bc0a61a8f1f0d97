//! Cells of Pods and PodTemplates.

use serde_json::{Value, json};

use super::ages;
use super::row::{Cells, NONE, Row};
use crate::profile::since;

/// A summary of the containers of a pod.
#[derive(Default)]
struct Sum<'a> {
    reason: String,
    restarts: i64,
    /// When a restarted container last terminated.
    restarted: &'a str,
    ready: usize,
}

impl<'a> Sum<'a> {
    fn add_restarts(&mut self, status: &'a Value) {
        self.restarts += status["restartCount"].as_i64().unwrap_or_default();
        let ended = status["lastState"]["terminated"]["finishedAt"].as_str().unwrap_or_default();
        // RFC 3339 in UTC sorts as text.
        self.restarted = self.restarted.max(ended);
    }
}

pub(super) fn pod(row: &Row<'_>) -> Cells {
    let init: Vec<&Value> = row.list("/spec/initContainers").iter().collect();
    let is_sidecar = |name: &Value| {
        init.iter().any(|container| container["name"] == *name && container["restartPolicy"] == "Always")
    };
    let sidecars = init.iter().filter(|container| container["restartPolicy"] == "Always").count();
    let total = row.count("/spec/containers") + sidecars;
    let (mut sum, initializing, sidecar_sum) = initialization(row, init.len(), is_sidecar);
    if !initializing || row.is_condition_true("Initialized") {
        sum = Sum { reason: sum.reason, ready: sum.ready, ..sidecar_sum };
        containers(row, &mut sum);
    }
    let ended = matches!(row.text("/status/phase"), "Succeeded" | "Failed");
    if row.is_terminating() && row.text("/status/reason") == "NodeLost" {
        "Unknown".clone_into(&mut sum.reason);
    } else if row.is_terminating() && !ended {
        "Terminating".clone_into(&mut sum.reason);
    }
    let mut restarts = sum.restarts.to_string();
    if sum.restarts != 0 && !sum.restarted.is_empty() {
        restarts = format!("{restarts} ({} ago)", ages::since(sum.restarted, row.now));
    }
    let ip = row.list("/status/podIPs").first().and_then(|first| first["ip"].as_str());
    let ip = ip.unwrap_or_else(|| row.text_or("/status/podIP", NONE));
    vec![
        row.name(),
        json!(format!("{}/{total}", sum.ready)),
        json!(sum.reason),
        json!(restarts),
        row.age(),
        json!(ip),
        json!(row.text_or("/spec/nodeName", NONE)),
        json!(row.text_or("/status/nominatedNodeName", NONE)),
        json!(readiness_gates(row)),
    ]
}

/// Summarizes the init containers: the summary, whether initialization is in progress, and the restarts of
/// sidecars.
fn initialization<'a>(
    row: &Row<'a>,
    planned: usize,
    is_sidecar: impl Fn(&Value) -> bool,
) -> (Sum<'a>, bool, Sum<'a>) {
    let (mut sum, mut sidecars) = (Sum { reason: reason(row), ..Sum::default() }, Sum::default());
    for (index, status) in row.list("/status/initContainerStatuses").iter().enumerate() {
        sum.add_restarts(status);
        let sidecar = is_sidecar(&status["name"]);
        if sidecar {
            sidecars.add_restarts(status);
        }
        let (terminated, waiting) = (&status["state"]["terminated"], &status["state"]["waiting"]);
        if terminated.is_object() && terminated["exitCode"].as_i64().unwrap_or_default() == 0 {
            continue;
        }
        if sidecar && status["started"] == true {
            sum.ready += usize::from(status["ready"] == true);
            continue;
        }
        let why = waiting["reason"].as_str().unwrap_or_default();
        sum.reason = if terminated.is_object() {
            format!("Init:{}", ending(terminated))
        } else if !matches!(why, "" | "PodInitializing") {
            format!("Init:{why}")
        } else {
            format!("Init:{index}/{planned}")
        };
        return (sum, true, sidecars);
    }
    (sum, false, sidecars)
}

/// The reason in the status of the pod itself.
fn reason(row: &Row<'_>) -> String {
    let gated = row
        .list("/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
    if gated {
        return "SchedulingGated".to_owned();
    }
    row.text_or("/status/reason", row.text("/status/phase")).to_owned()
}

/// Adds the regular containers; the first one takes precedence.
fn containers<'a>(row: &Row<'a>, sum: &mut Sum<'a>) {
    let (mut running, mut failed) = (false, String::new());
    for status in row.list("/status/containerStatuses").iter().rev() {
        sum.add_restarts(status);
        let (terminated, waiting) = (&status["state"]["terminated"], &status["state"]["waiting"]);
        match waiting["reason"].as_str() {
            Some(why) if !why.is_empty() => why.clone_into(&mut sum.reason),
            _ if terminated.is_object() => {
                sum.reason = ending(terminated);
                if terminated["exitCode"].as_i64().unwrap_or_default() != 0 {
                    sum.reason.clone_into(&mut failed);
                }
            }
            _ if status["ready"] == true && status["state"]["running"].is_object() => {
                running = true;
                sum.ready += 1;
            }
            _ => {}
        }
    }
    if row.minor < since::FAILED_CONTAINER_SHOWN {
        failed.clear();
    }
    if sum.reason == "Completed" {
        sum.reason = match (running, row.is_condition_true("Ready"), failed.is_empty()) {
            (true, true, _) => "Running".to_owned(),
            (_, _, false) => failed,
            (true, false, true) => "NotReady".to_owned(),
            (false, _, true) => return,
        };
    }
}

/// The reason why a container terminated.
fn ending(terminated: &Value) -> String {
    match (terminated["reason"].as_str(), terminated["signal"].as_i64()) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or_default()),
    }
}

fn readiness_gates(row: &Row<'_>) -> String {
    let gates = row.list("/spec/readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates.iter().filter_map(|gate| gate["conditionType"].as_str());
    let open = open.filter(|condition| row.is_condition_true(condition)).count();
    format!("{open}/{}", gates.len())
}

/// The conditions of a row: a pod that ended is completed.
pub(super) fn conditions(object: &Value) -> Option<Value> {
    let (reason, message) = match object["status"]["phase"].as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

pub(super) fn pod_template(row: &Row<'_>) -> Cells {
    let [names, images] = row.containers("/template/spec/containers");
    vec![row.name(), names, images, json!(row.labels("/template/metadata/labels"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pod_value: &Value) -> String {
        let now = "2024-01-01T00:10:00Z".parse().unwrap();
        let cells = pod(&Row { object: pod_value, now, minor: 36 });
        cells[1..4].iter().map(|cell| cell.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_pod_shows_why_it_is_not_running() {
        let spec = json!({ "containers": [{ "name": "a" }, { "name": "b" }] });
        let waiting = |why: &str| json!({ "name": "a", "state": { "waiting": { "reason": why } } });
        let ended = |code: i64, why: &str| json!({ "name": "a", "state": { "terminated": { "exitCode": code, "reason": why } } });
        let running = json!({ "name": "b", "ready": true, "restartCount": 3, "state": { "running": {} },
            "lastState": { "terminated": { "finishedAt": "2024-01-01T00:05:00Z" } } });
        for (status, text) in [
            (json!({ "phase": "Pending" }), "0/2 Pending 0"),
            (json!({ "phase": "Failed", "reason": "Evicted" }), "0/2 Evicted 0"),
            (
                json!({ "containerStatuses": [waiting("CrashLoopBackOff"), running] }),
                "1/2 CrashLoopBackOff 3 (5m ago)",
            ),
            (json!({ "containerStatuses": [ended(0, "Completed"), running] }), "1/2 NotReady 3 (5m ago)"),
            (json!({ "containerStatuses": [ended(137, "")] }), "0/2 ExitCode:137 0"),
            (
                json!({ "initContainerStatuses": [ended(0, ""), waiting("PodInitializing")] }),
                "0/2 Init:1/0 0",
            ),
            (json!({ "initContainerStatuses": [ended(1, "Error")] }), "0/2 Init:Error 0"),
            (
                json!({ "initContainerStatuses": [waiting("ImagePullBackOff")] }),
                "0/2 Init:ImagePullBackOff 0",
            ),
            (
                json!({ "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "SchedulingGated" }] }),
                "0/2 SchedulingGated 0",
            ),
        ] {
            assert_eq!(shown(&json!({ "spec": spec, "status": status })), text, "{status}");
        }
        let going = json!({ "metadata": { "deletionTimestamp": "2024-01-01T00:00:00Z" },
            "spec": spec, "status": { "phase": "Running" } });
        assert_eq!(shown(&going), "0/2 Terminating 0");
    }

    #[test]
    fn a_sidecar_counts_as_a_container() {
        let object = json!({
            "spec": { "containers": [{ "name": "a" }], "initContainers": [
                { "name": "once" }, { "name": "side", "restartPolicy": "Always" }] },
            "status": { "phase": "Running", "initContainerStatuses": [
                { "name": "once", "restartCount": 4, "state": { "terminated": { "exitCode": 0 } } },
                { "name": "side", "started": true, "ready": true, "restartCount": 1, "state": { "running": {} } }],
                "containerStatuses": [{ "name": "a", "ready": true, "state": { "running": {} } }] },
        });
        assert_eq!(shown(&object), "2/2 Running 1");
    }
}
