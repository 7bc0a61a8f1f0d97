//! The status of a ReplicaSet.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::{Object, Resource, Write};

use crate::owners::available_at;

/// The counts of a ReplicaSet's pods.
pub(super) struct Counts {
    all: usize,
    labelled: usize,
    ready: usize,
    available: usize,
    /// `None` for controllers that do not count them.
    terminating: Option<usize>,
    /// The time when the next ready pod becomes available.
    pub(super) recheck_at: Option<Time>,
}

impl Counts {
    /// Counts the active pods of a ReplicaSet.
    pub(super) fn of(set: &Object, pods: &[&Object], now: Time) -> Self {
        let wait = set.number("/spec/minReadySeconds").unwrap_or(0);
        let from: Vec<Time> = pods.iter().filter_map(|pod| available_at(pod, wait)).collect();
        let labels = &set["spec"]["template"]["metadata"]["labels"];
        let has_labels = |pod: &&&Object| {
            let mut wanted = labels.as_object().into_iter().flatten();
            wanted.all(|(name, value)| pod.label(name) == value.as_str())
        };
        Self {
            all: pods.len(),
            labelled: pods.iter().filter(has_labels).count(),
            ready: from.len(),
            available: from.iter().filter(|at| **at <= now).count(),
            terminating: None,
            recheck_at: from.into_iter().filter(|at| *at > now).min(),
        }
    }

    /// Sets the count of terminating pods.
    pub(super) fn with_terminating(self, terminating: Option<usize>) -> Self {
        Self { terminating, ..self }
    }
}

/// Writes the status if it differs from the API. Omits zero counts except `replicas`, as `omitempty` does.
pub(super) fn write_status(
    kind: &Resource,
    set: &Object,
    counts: &Counts,
    rejection: Option<&str>,
    now: Time,
) -> Option<Write> {
    let mut status = json!({ "replicas": counts.all, "observedGeneration": set.generation() });
    for (field, count) in [
        ("fullyLabeledReplicas", counts.labelled),
        ("readyReplicas", counts.ready),
        ("availableReplicas", counts.available),
    ] {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    if let Some(terminating) = counts.terminating {
        status["terminatingReplicas"] = json!(terminating);
    }
    let mut conditions: Vec<Value> = set.list("/status/conditions").to_vec();
    match rejection {
        Some(why) if condition::find_in_status(set, "ReplicaFailure").is_none() => {
            let failure = Condition::new("ReplicaFailure", "True", "FailedCreate", why);
            condition::set(&mut conditions, &failure, now);
        }
        Some(_) => {}
        None => conditions.retain(|condition| condition["type"] != "ReplicaFailure"),
    }
    if !conditions.is_empty() {
        status["conditions"] = Value::Array(conditions);
    }
    if set["status"] == status {
        return None;
    }
    let mut value = set.to_value();
    value["status"] = status;
    Some(Write::update_status(kind, value))
}
