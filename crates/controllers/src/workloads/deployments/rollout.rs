//! Rollouts of a Deployment: creation of the new ReplicaSet and scaling.

use windtunnel_core::{Object, View, Write, pod};

use super::sets::{Sets, count, replicas_of, scaled};
use crate::owners;
use crate::workloads::shares::resolve_int_or_percent;

/// The maximum numbers of additional and of unavailable pods during a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) surge: i64,
    pub(super) unavailable: i64,
}

impl Bounds {
    /// The bounds of a Deployment: both 0 with strategy `Recreate`; never both 0 with `RollingUpdate`.
    pub(super) fn of(deployment: &Object) -> Self {
        if is_recreated(deployment) {
            return Self { surge: 0, unavailable: 0 };
        }
        let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
        let replicas = replicas_of(deployment);
        let bound = |field: &str, up: bool| match &rolling[field] {
            serde_json::Value::Null => resolve_int_or_percent(&"25%".into(), replicas, up).unwrap_or(0),
            value => resolve_int_or_percent(value, replicas, up).unwrap_or(0),
        };
        let (surge, unavailable) = (bound("maxSurge", true), bound("maxUnavailable", false));
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable.min(replicas) };
        Self { surge, unavailable }
    }
}

/// Whether a Deployment ends all old pods before it creates new ones.
pub(super) fn is_recreated(deployment: &Object) -> bool {
    deployment["spec"]["strategy"]["type"] == "Recreate"
}

/// The next writes of a rollout; empty if it waits or is complete.
pub(super) fn next(deployment: &Object, sets: &Sets<'_>, view: &View) -> Vec<Write> {
    if is_recreated(deployment) {
        let old = scale_old_sets_to_zero(deployment, sets);
        if !old.is_empty() {
            return old;
        }
        if old_pods_run(sets, view) {
            return Vec::new();
        }
    }
    let surge = Bounds::of(deployment).surge;
    let wanted = new_set_replicas(deployment, sets);
    let Some(new) = sets.new else {
        return vec![sets.create(deployment, wanted, surge)];
    };
    if count(new, "/spec/replicas") != wanted {
        return vec![scaled(deployment, new, wanted, surge)];
    }
    if is_recreated(deployment) { Vec::new() } else { scale_down_old_sets(deployment, sets, new) }
}

/// Scales the old ReplicaSets to zero.
fn scale_old_sets_to_zero(deployment: &Object, sets: &Sets<'_>) -> Vec<Write> {
    let filled = sets.old.iter().filter(|set| count(set, "/spec/replicas") > 0);
    filled.map(|set| scaled(deployment, set, 0, 0)).collect()
}

/// Whether old pods still exist. Ended pods count only while they are terminating, as they may still hold
/// resources.
fn old_pods_run(sets: &Sets<'_>, view: &View) -> bool {
    let over = |pod: &Object| pod::has_ended(pod) && !pod.is_terminating();
    sets.old.iter().any(|set| owners::pods_of(view, set).any(|pod| !over(pod)))
}

/// The current number of replicas for the new ReplicaSet (`NewRSNewReplicas`).
fn new_set_replicas(deployment: &Object, sets: &Sets<'_>) -> i64 {
    let wanted = replicas_of(deployment);
    let current = sets.new.map_or(0, |new| count(new, "/spec/replicas"));
    if is_recreated(deployment) || current >= wanted {
        return wanted;
    }
    let room = wanted + Bounds::of(deployment).surge - sets.sum("/spec/replicas");
    current + room.clamp(0, wanted - current)
}

/// Scales the old ReplicaSets down: first by unavailable pods, then by as many available ones as may be
/// missing.
fn scale_down_old_sets(deployment: &Object, sets: &Sets<'_>, new: &Object) -> Vec<Write> {
    let bounds = Bounds::of(deployment);
    let least = replicas_of(deployment) - bounds.unavailable;
    let not_yet = count(new, "/spec/replicas") - count(new, "/status/availableReplicas");
    let spare = sets.sum("/spec/replicas") - least - not_yet;
    let mut left: Vec<i64> = sets.old.iter().map(|set| count(set, "/spec/replicas")).collect();
    let mut cleaned = spare.max(0);
    for (set, current) in sets.old.iter().zip(&mut left) {
        let unhealthy = (*current - count(set, "/status/availableReplicas")).clamp(0, cleaned);
        *current -= unhealthy;
        cleaned -= unhealthy;
    }
    let mut removable = if spare > 0 { (sets.sum("/status/availableReplicas") - least).max(0) } else { 0 };
    for current in &mut left {
        let taken = removable.min(*current);
        *current -= taken;
        removable -= taken;
    }
    let changed = sets.old.iter().zip(left).filter(|(set, left)| count(set, "/spec/replicas") != *left);
    changed.map(|(set, left)| scaled(deployment, set, left, bounds.surge)).collect()
}
