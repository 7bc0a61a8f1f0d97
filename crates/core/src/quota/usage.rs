//! The quota usage of one object (`pkg/quota/v1/evaluator/core`), and the names under which it counts.

use jiff::SignedDuration;
use serde_json::Value;

use super::amounts::{self, Amounts};
use crate::clock::Time;
use crate::pod;
use crate::quantity::Quantity;

/// Kinds that quotas may count by their plural name alone.
const PLAIN: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];
/// The compute resources of pods.
const COMPUTE: [&str; 9] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
/// What a quota may limit of the claims for volumes of one class.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";
/// The annotation for the storage class of a claim, older than the field.
const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The name of the object count of a kind in a quota.
fn count_name(group: &str, plural: &str) -> String {
    if group.is_empty() { format!("count/{plural}") } else { format!("count/{plural}.{group}") }
}

/// Whether objects of a kind may use a resource of this name.
pub(super) fn uses(group: &str, plural: &str, name: &str) -> bool {
    if !group.is_empty() {
        return name == count_name(group, plural);
    }
    let own = match plural {
        "pods" => name == "pods" || is_compute(name),
        "services" => matches!(name, "services.nodeports" | "services.loadbalancers"),
        "persistentvolumeclaims" => {
            let resource = name.split_once(OF_CLASS).map_or(name, |(_, resource)| resource);
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ => false,
    };
    own || (PLAIN.contains(&plural) && name == plural) || name == count_name(group, plural)
}

/// Whether a name is that of a compute resource: native, huge pages, or extended.
fn is_compute(name: &str) -> bool {
    let is_extended = |requested: &str| {
        requested.contains('/')
            && !requested.split('/').next().is_some_and(|domain| domain.contains("kubernetes.io"))
    };
    COMPUTE.contains(&name)
        || name.starts_with("hugepages-")
        || name.strip_prefix("requests.").is_some_and(|requested| {
            requested.starts_with("hugepages-")
                || requested.starts_with("deviceclass.resource.kubernetes.io/")
                || is_extended(requested)
        })
}

/// The amounts that an object uses.
pub fn object_usage(group: &str, plural: &str, object: &Value, now: Time) -> Amounts {
    let mut taken = Amounts::from([(count_name(group, plural), Quantity::ONE)]);
    if !group.is_empty() {
        return taken;
    }
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
pub fn container_usage(container: &Value) -> Amounts {
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
    if pod::has_ended(pod) {
        return false;
    }
    let ends: Option<Time> = pod["metadata"]["deletionTimestamp"].as_str().and_then(|at| at.parse().ok());
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let (Some(ends), Some(grace)) = (ends, grace) else { return true };
    let last = ends.checked_add(SignedDuration::from_secs(grace));
    last.is_ok_and(|last| now <= last)
}

fn claim_usage(claim: &Value) -> Amounts {
    let mut taken = Amounts::new();
    let storage = claimed_storage(claim);
    taken.extend(storage.map(|amount| ("requests.storage".to_owned(), amount)));
    let annotated = claim["metadata"]["annotations"][STORAGE_CLASS].as_str();
    let class = annotated.or(claim["spec"]["storageClassName"].as_str());
    if let Some(class) = class.filter(|class| !class.is_empty()) {
        taken.insert(format!("{class}{OF_CLASS}persistentvolumeclaims"), Quantity::ONE);
        taken.extend(storage.map(|amount| (format!("{class}{OF_CLASS}requests.storage"), amount)));
    }
    taken
}

/// The storage that a claim asks for, or that is allocated for it if that is more, in whole bytes.
fn claimed_storage(claim: &Value) -> Option<Quantity> {
    let storage = |list: &Value| amounts::read(list).get("storage").copied();
    let asked = storage(&claim["spec"]["resources"]["requests"])?;
    let allocated =
        storage(&claim["status"]["allocatedResources"]).filter(|allocated| allocated.is_more(asked));
    Some(allocated.unwrap_or(asked).rounded_up())
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
