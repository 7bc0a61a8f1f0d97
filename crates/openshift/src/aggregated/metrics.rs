//! Usage of CPU and memory, as metrics-server shows it. Nothing runs here, so usage follows from requests and names:
//!
//! * A container uses 45 % to 75 % of the CPU and 70 % to 95 % of the memory that it requests. Without a request it uses 1 to
//!   5 thousandths of a CPU, and 16 to 80 MiB. It never uses more than its limit.
//! * A node uses what its pods use, and for its own programs 3 % of its allocatable CPU and 6 % of its memory.
//!
//! The shares depend only on the names of container, pod and namespace, so two clusters with the same pods use the same.

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::quantity::Quantity;
use windtunnel_core::requests::aggregated::{AggregatedKind, AggregatedRequest};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, Resource};

const NODE_METRICS: Resource = Resource::cluster("metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes");
static POD_METRICS: Resource = Resource::namespaced("metrics.k8s.io", "v1beta1", "PodMetrics", "pods");

/// The interval at which usage is measured, and the span over which it is.
const WINDOW_SECONDS: i64 = 30;
const MIB: i64 = 1 << 20;

/// An amount of CPU in thousandths, and of memory in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Usage {
    cpu: i64,
    memory: i64,
}

impl Usage {
    fn plus(self, other: Self) -> Self {
        Self { cpu: self.cpu.saturating_add(other.cpu), memory: self.memory.saturating_add(other.memory) }
    }

    fn shown(self) -> Value {
        json!({ "cpu": format!("{}m", self.cpu), "memory": format!("{}Ki", self.memory / 1024) })
    }
}

pub(super) fn kinds() -> [AggregatedKind; 2] {
    [NODE_METRICS, POD_METRICS.clone()].map(|resource| AggregatedKind {
        resource,
        short_names: &[],
        verbs: &["get", "list"],
        shows: None,
    })
}

/// Returns the usage of the nodes that have a kubelet.
pub(super) fn of_nodes(request: &AggregatedRequest<'_>) -> Vec<Value> {
    let pods = (request.stored)(&PODS);
    let nodes = (request.stored)(&NODES);
    let ready = nodes.iter().filter(|node| is_ready(node));
    ready
        .map(|node| {
            let own = Usage {
                cpu: amounts(node, "/status/allocatable").cpu * 3 / 100,
                memory: amounts(node, "/status/allocatable").memory * 6 / 100,
            };
            let here =
                pods.iter().filter(|pod| is_measured(pod) && pod.text("/spec/nodeName") == node.name());
            let used = here.flat_map(containers).fold(own, |sum, (_, usage)| sum.plus(usage));
            metrics(&NODE_METRICS, node, request.now, "usage", &used.shown())
        })
        .collect()
}

/// Returns the usage of the running pods of a namespace, or of all.
pub(super) fn of_pods(request: &AggregatedRequest<'_>) -> Vec<Value> {
    let pods = (request.stored)(&PODS);
    let is_asked = |pod: &&Object| request.namespace.is_empty() || pod.namespace() == request.namespace;
    let measured = pods.iter().filter(|pod| is_measured(pod)).filter(is_asked);
    measured
        .map(|pod| {
            let shown = |(name, usage): (String, Usage)| json!({ "name": name, "usage": usage.shown() });
            let containers: Vec<Value> = containers(pod).map(shown).collect();
            metrics(&POD_METRICS, pod, request.now, "containers", &json!(containers))
        })
        .collect()
}

/// The object about the usage of a node or a pod.
fn metrics(kind: &Resource, of: &Object, now: Time, field: &str, usage: &Value) -> Value {
    let measured = now.as_second().div_euclid(WINDOW_SECONDS) * WINDOW_SECONDS;
    let measured = Time::from_second(measured).unwrap_or(now);
    let mut metadata = json!({ "name": of.name(), "creationTimestamp": rfc3339(now) });
    if kind.namespaced {
        metadata["namespace"] = json!(of.namespace());
    }
    let labels = &of["metadata"]["labels"];
    if labels.is_object() {
        metadata["labels"] = labels.clone();
    }
    json!({
        "kind": kind.kind,
        "apiVersion": kind.api_version(),
        "metadata": metadata,
        "timestamp": rfc3339(measured),
        "window": format!("{WINDOW_SECONDS}s"),
        field: usage,
    })
}

/// The containers of a pod with their usage.
fn containers(pod: &Object) -> impl Iterator<Item = (String, Usage)> + '_ {
    let specified = pod["spec"]["containers"].as_array().into_iter().flatten();
    specified.map(|container| {
        let name = container["name"].as_str().unwrap_or_default();
        let stream = format!("usage/{}/{}/{name}", pod.namespace(), pod.name());
        let mut draws = Streams::new(0).stream(&stream);
        let mut draw = |from: u64, to: u64| i64::try_from(draws.between(from, to)).unwrap_or(1);
        let (share, memory_share) = (draw(45, 75), draw(70, 95));
        let (cpu, memory) = (draw(1, 5), draw(16, 80));
        let resources = &container["resources"];
        let (requests, limits) = (&resources["requests"], &resources["limits"]);
        let used = Usage {
            cpu: thousandths(&requests["cpu"]).map_or(cpu, |requested| (requested * share / 100).max(1)),
            memory: bytes(&requests["memory"])
                .map_or(memory * MIB, |requested| requested / 100 * memory_share),
        };
        let limited = Usage {
            cpu: used.cpu.min(thousandths(&limits["cpu"]).unwrap_or(i64::MAX)),
            memory: used.memory.min(bytes(&limits["memory"]).unwrap_or(i64::MAX)),
        };
        (name.to_owned(), limited)
    })
}

fn is_measured(pod: &Object) -> bool {
    pod.text("/status/phase") == "Running"
}

fn is_ready(node: &Object) -> bool {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn amounts(object: &Object, pointer: &str) -> Usage {
    let amounts = object.pointer(pointer).unwrap_or(&Value::Null);
    Usage {
        cpu: thousandths(&amounts["cpu"]).unwrap_or_default(),
        memory: bytes(&amounts["memory"]).unwrap_or_default(),
    }
}

fn thousandths(value: &Value) -> Option<i64> {
    Some(quantity(value)?.milli_value())
}

fn bytes(value: &Value) -> Option<i64> {
    Some(quantity(value)?.value())
}

fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, phase: &str, containers: &Value) -> Object {
        Object::new(json!({
            "metadata": { "name": name, "namespace": "n", "labels": { "app": "a" } },
            "spec": { "nodeName": "w", "containers": containers },
            "status": { "phase": phase },
        }))
    }

    fn request<'a>(
        stored: &'a dyn Fn(&Resource) -> Vec<Object>,
        user: &'a windtunnel_core::Identity,
        namespace: &'a str,
    ) -> AggregatedRequest<'a> {
        let now = "2026-05-01T12:00:47Z".parse().unwrap();
        AggregatedRequest { resource: &POD_METRICS, namespace, name: "", user, now, stored }
    }

    #[test]
    fn usage_follows_from_requests_and_names() {
        let sized = json!([{ "name": "c", "resources": {
            "requests": { "cpu": "1", "memory": "100Mi" }, "limits": { "cpu": "500m" },
        } }, { "name": "d" }]);
        let pods =
            [pod("a", "Running", &sized), pod("b", "Running", &sized), pod("done", "Succeeded", &sized)];
        let node = Object::new(json!({
            "metadata": { "name": "w" },
            "status": {
                "allocatable": { "cpu": "4", "memory": "16Gi" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }));
        let stored =
            |resource: &Resource| if *resource == NODES { vec![node.clone()] } else { pods.to_vec() };
        let user = windtunnel_core::Identity::admin();
        let shown = of_pods(&request(&stored, &user, ""));
        assert_eq!(shown, of_pods(&request(&stored, &user, "n")));
        assert_eq!(of_pods(&request(&stored, &user, "other")), Vec::<Value>::new());
        assert_eq!(shown.len(), 2, "the third one has ended");
        assert_eq!(
            (&shown[0]["timestamp"], &shown[0]["window"]),
            (&json!("2026-05-01T12:00:30Z"), &json!("30s"))
        );
        let used = |pod: usize, container: usize| shown[pod]["containers"][container]["usage"].clone();
        let first = thousandths(&used(0, 0)["cpu"]).unwrap();
        assert!((450..=500).contains(&first), "{first}");
        assert!((70 * MIB..=95 * MIB).contains(&bytes(&used(0, 0)["memory"]).unwrap()));
        assert!((1..=5).contains(&thousandths(&used(0, 1)["cpu"]).unwrap()));
        assert_ne!(used(0, 0)["memory"], used(1, 0)["memory"]);
        let nodes = of_nodes(&request(&stored, &user, ""));
        let sum: i64 = (0..2)
            .flat_map(|pod| (0..2).map(move |container| (pod, container)))
            .map(|(pod, container)| thousandths(&used(pod, container)["cpu"]).unwrap())
            .sum();
        assert_eq!(thousandths(&nodes[0]["usage"]["cpu"]), Some(sum + 120));
    }
}
