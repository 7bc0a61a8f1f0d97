//! The quota usage of one object (`pkg/quota/v1/evaluator/core`).

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::clock::Time;

use crate::admission::builtin::amounts::{self, Amounts};
use crate::kinds::Kind;
use crate::kinds::quantity::Quantity;

/// Kinds that quotas may count by their plural name alone.
const PLAIN: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// The annotation for the storage class of a claim, older than the field.
const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The name of the object count of a kind in a quota.
fn count_name(kind: &Kind) -> String {
    match &*kind.resource.group {
        "" => format!("count/{}", kind.resource.plural),
        group => format!("count/{}.{group}", kind.resource.plural),
    }
}

/// Whether objects of a kind may use any of these resources.
pub(super) fn counts(kind: &Kind, hard: &Amounts) -> bool {
    let is_core = kind.resource.group.is_empty();
    match &*kind.resource.plural {
        "pods" | "persistentvolumeclaims" | "services" if is_core => true,
        plural => (is_core && hard.contains_key(plural)) || hard.contains_key(&count_name(kind)),
    }
}

/// The amounts that an object uses.
pub(super) fn object_usage(kind: &Kind, object: &Value, now: Time) -> Amounts {
    let mut taken = Amounts::from([(count_name(kind), Quantity::ONE)]);
    if !kind.resource.group.is_empty() {
        return taken;
    }
    let plural = &*kind.resource.plural;
    if PLAIN.contains(&plural) {
        taken.insert(plural.to_owned(), Quantity::ONE);
    }
    match plural {
        "pods" if is_alive(object, now) => {
            let spec = &object["spec"];
            taken.extend(compute_usage(
                &amounts::pod_amounts(spec, "requests"),
                &amounts::pod_amounts(spec, "limits"),
            ));
            taken.insert("pods".to_owned(), Quantity::ONE);
        }
        "persistentvolumeclaims" => taken.extend(claim_usage(object)),
        "services" => taken.extend(service_usage(&object["spec"])),
        _ => {}
    }
    taken
}

/// The compute resources that a container uses.
pub(super) fn container_usage(container: &Value) -> Amounts {
    let part = |part: &str| amounts::read(&container["resources"][part]);
    compute_usage(&part("requests"), &part("limits"))
}

/// The quota names and amounts of requests and limits (`podComputeUsageHelper`).
fn compute_usage(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut taken = Amounts::new();
    for (name, amount) in requests {
        let native = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        // Extended resources count only under their `requests.` name.
        if native || name.starts_with("hugepages-") {
            taken.insert(name.clone(), *amount);
        }
        if native || name.starts_with("hugepages-") || name.contains('/') {
            taken.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        taken.extend(limits.get(name).map(|amount| (format!("limits.{name}"), *amount)));
    }
    taken
}

/// Whether a pod still counts: it is not finished, and its deletion is not overdue (`QuotaV1Pod`).
fn is_alive(pod: &Value, now: Time) -> bool {
    if matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) {
        return false;
    }
    let ends: Option<Time> = pod["metadata"]["deletionTimestamp"].as_str().and_then(|at| at.parse().ok());
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let (Some(ends), Some(grace)) = (ends, grace) else { return true };
    let last = ends.checked_add(SignedDuration::from_secs(grace));
    last.is_ok_and(|last| now <= last)
}

fn claim_usage(claim: &Value) -> Amounts {
    let asked = amounts::read(&claim["spec"]["resources"]["requests"]);
    let mut taken = Amounts::new();
    taken.extend(asked.get("storage").map(|amount| ("requests.storage".to_owned(), *amount)));
    let annotated = claim["metadata"]["annotations"][STORAGE_CLASS].as_str();
    let class = annotated.or(claim["spec"]["storageClassName"].as_str());
    if let Some(class) = class.filter(|class| !class.is_empty()) {
        let prefix = format!("{class}.storageclass.storage.k8s.io");
        taken.insert(format!("{prefix}/persistentvolumeclaims"), Quantity::ONE);
        taken.extend(asked.get("storage").map(|amount| (format!("{prefix}/requests.storage"), *amount)));
    }
    taken
}

fn service_usage(spec: &Value) -> Amounts {
    let ports = || spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut taken = Amounts::new();
    let mut count = |name: &str, amount: usize| {
        taken.insert(name.to_owned(), Quantity::whole(i64::try_from(amount).unwrap_or(i64::MAX)));
    };
    match spec["type"].as_str() {
        Some("NodePort") => count("services.nodeports", ports().len()),
        Some("LoadBalancer") => {
            let given = ports().iter().filter(|port| port["nodePort"].as_i64().is_some_and(|port| port != 0));
            let all = spec["allocateLoadBalancerNodePorts"] != false;
            count("services.nodeports", if all { ports().len() } else { given.count() });
            count("services.loadbalancers", 1);
        }
        _ => {}
    }
    taken
}
