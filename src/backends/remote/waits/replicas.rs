//! The replicas of workloads, as the cluster's own controllers count them. A status that differs from the known
//! pods shows that a controller is not done.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::resources::{DEPLOYMENTS, PODS, REPLICA_SETS};
use windtunnel_core::{Key, Resource, condition};

/// Numbers of replicas: all of them, and those that are ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    all: i64,
    ready: i64,
}

/// The replicas that an object is or has.
#[derive(Debug, Clone)]
pub(super) struct Replicas {
    uid: String,
    /// Uid of the controller that counts this object.
    owner: Option<String>,
    /// The numbers that the owner counts for this object.
    counts: Counts,
    /// Whether a controller writes the numbers of dependents into the status of this object.
    has_dependents: bool,
    /// The number that a ReplicaSet must have.
    wanted: Option<i64>,
}

/// A difference between the status of a workload and its dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uncounted {
    status: Counts,
    found: Counts,
    wanted: Option<i64>,
}

impl Replicas {
    /// The replicas of an object. `None` for other kinds, and for objects that are being deleted: a pod that
    /// terminates is no replica.
    pub(super) fn of(resource: &Resource, object: &Value) -> Option<Self> {
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let is = |other: &Resource| resource.group == other.group && resource.plural == other.plural;
        let (is_pod, is_set) = (is(&PODS), is(&REPLICA_SETS));
        if metadata["deletionTimestamp"].is_string() || !(is_pod || is_set || is(&DEPLOYMENTS)) {
            return None;
        }
        let number = |field: &str| status[field].as_i64().unwrap_or(0);
        let counts = if is_pod {
            if status["phase"] == "Succeeded" || status["phase"] == "Failed" {
                return None;
            }
            let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let is_ready = condition::is_true_in(conditions, "Ready");
            Counts { all: 1, ready: i64::from(is_ready) }
        } else {
            Counts { all: number("replicas"), ready: number("readyReplicas") }
        };
        let owners = metadata["ownerReferences"].as_array();
        let owner = owners.and_then(|owners| owners.iter().find(|owner| owner["controller"] == true));
        Some(Self {
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            owner: owner.and_then(|owner| owner["uid"].as_str()).map(str::to_owned),
            counts,
            has_dependents: !is_pod,
            wanted: is_set.then(|| spec["replicas"].as_i64().unwrap_or(1)),
        })
    }
}

/// The workloads whose status differs from the numbers of their dependents, or that have too many or too few
/// of them.
pub(super) fn uncounted<'s>(
    known: impl Iterator<Item = (&'s Key, &'s Replicas)> + Clone,
) -> impl Iterator<Item = (&'s Key, Uncounted)> {
    let mut sums: BTreeMap<&str, Counts> = BTreeMap::new();
    for (_, replicas) in known.clone() {
        if let Some(owner) = &replicas.owner {
            let sum = sums.entry(owner).or_default();
            sum.all += replicas.counts.all;
            sum.ready += replicas.counts.ready;
        }
    }
    known.filter(|(_, replicas)| replicas.has_dependents).filter_map(move |(key, replicas)| {
        let found = sums.get(replicas.uid.as_str()).copied().unwrap_or_default();
        let is_complete = replicas.wanted.is_none_or(|wanted| wanted == found.all);
        let uncounted = Uncounted { status: replicas.counts, found, wanted: replicas.wanted };
        (found != replicas.counts || !is_complete).then_some((key, uncounted))
    })
}
