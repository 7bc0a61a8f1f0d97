//! Scaling of a Deployment outside of its rollout: all its ReplicaSets grow or shrink in proportion (`scale`).

use windtunnel_core::{Object, Write};

use super::rollout::{Bounds, is_recreated};
use super::sets::{DESIRED, MAX, Sets, count, is_annotated, replicas_of, scaled};

/// Whether the Deployment was scaled since its ReplicaSets were (`isScalingEvent`).
pub(super) fn is_scaled(deployment: &Object, sets: &Sets<'_>) -> bool {
    let wanted = replicas_of(deployment).to_string();
    let mut desired = sets.active().filter_map(|set| set.annotation(DESIRED));
    desired.any(|desired| desired != wanted)
}

/// The writes that scale the ReplicaSets of a paused or scaled Deployment.
pub(super) fn writes(deployment: &Object, sets: &Sets<'_>) -> Vec<Write> {
    let surge = Bounds::of(deployment).surge;
    let active: Vec<&Object> = sets.active().collect();
    if active.len() <= 1 {
        let only = active.first().copied().or(sets.new).or_else(|| sets.old.last().copied());
        let wanted = replicas_of(deployment);
        let only = only.filter(|set| count(set, "/spec/replicas") != wanted);
        return only.map(|set| scaled(deployment, set, wanted, surge)).into_iter().collect();
    }
    if is_saturated(deployment, sets.new) {
        let old = sets.old.iter().filter(|set| count(set, "/spec/replicas") > 0);
        return old.map(|set| scaled(deployment, set, 0, surge)).collect();
    }
    if is_recreated(deployment) { Vec::new() } else { in_proportion(deployment, active, surge) }
}

/// Whether the current ReplicaSet has all pods, and they are available.
fn is_saturated(deployment: &Object, new: Option<&Object>) -> bool {
    let wanted = replicas_of(deployment);
    new.is_some_and(|new| {
        new.annotation(DESIRED) == Some(wanted.to_string().as_str())
            && count(new, "/spec/replicas") == wanted
            && count(new, "/status/availableReplicas") == wanted
    })
}

/// Divides the pods that are added or removed among the ReplicaSets. The largest gets the remainder.
fn in_proportion(deployment: &Object, mut sets: Vec<&Object>, surge: i64) -> Vec<Write> {
    let wanted = replicas_of(deployment);
    let allowed = if wanted > 0 { wanted + surge } else { 0 };
    let size = |set: &Object| count(set, "/spec/replicas");
    let added = allowed - sets.iter().map(|set| size(set)).sum::<i64>();
    let age = |set: &Object| (set.time("/metadata/creationTimestamp"), set.name().to_owned());
    sets.sort_by_key(|set| age(set));
    if added > 0 {
        sets.reverse();
    }
    sets.sort_by_key(|set| std::cmp::Reverse(size(set)));
    let mut left = added;
    let mut sizes: Vec<i64> = Vec::new();
    for set in &sets {
        let share = share(deployment, set, allowed);
        let share = if added > 0 { share.min(left) } else { share.max(left) };
        let share = if left == 0 { 0 } else { share };
        left -= share;
        sizes.push(size(set) + share);
    }
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + left).max(0);
    }
    let changed = sets.into_iter().zip(sizes);
    let changed = changed
        .filter(|(set, size)| count(set, "/spec/replicas") != *size || !is_annotated(set, deployment, surge));
    changed.map(|(set, size)| scaled(deployment, set, size, surge)).collect()
}

/// How many pods a ReplicaSet gains or loses by its share of the most pods before (`getReplicaSetFraction`).
fn share(deployment: &Object, set: &Object, allowed: i64) -> i64 {
    let size = count(set, "/spec/replicas");
    if replicas_of(deployment) == 0 {
        return -size;
    }
    let known = set.annotation(MAX).and_then(|text| text.parse::<i64>().ok()).filter(|most| *most > 0);
    let before = known.unwrap_or_else(|| count(deployment, "/status/replicas"));
    if before == 0 {
        return 0;
    }
    // Rounds half away from zero.
    (2 * size * allowed + before).div_euclid(2 * before) - size
}
