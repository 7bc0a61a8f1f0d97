//! Assesses a pool for its status insight: node counts by category.
//!
//! The counts and the assessment follow `oc adm upgrade status` (`workerpool.go`). The update status
//! controller of the cluster-version operator had the type but never created such an insight. The reasons of
//! conditions are those of the last revision of its API (openshift/api PR #2233).

use windtunnel_core::clock::Time;

use super::node::phase::Phase;
use super::node::{NodeState, Pool};
use super::percent::percent;
use crate::insight::{
    InsightCondition, MachineConfigPoolStatusInsight, PoolAssessment, PoolNodesSummaryType,
    PoolNodesUpdateSummary, ResourceRef, ScopeType,
};

/// Node counts of a pool by category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCounts {
    pub(crate) total: usize,
    /// Nodes in phase `Updated`.
    pub(crate) updated: usize,
    /// Nodes that run the target version. It differs from `updated` while a daemon has just finished.
    pub(crate) at_target: usize,
    pub(crate) available: usize,
    /// Nodes whose update is in progress, failed or not.
    pub(crate) in_progress: usize,
    /// Those of them whose daemon did not fail.
    pub(crate) progressing: usize,
    pub(crate) draining: usize,
    pub(crate) pending: usize,
    pub(crate) excluded: usize,
    pub(crate) degraded: usize,
}

impl NodeCounts {
    /// Counts these nodes.
    pub(crate) fn from_states(states: impl IntoIterator<Item = NodeState>) -> Self {
        let mut counts = Self::default();
        states.into_iter().for_each(|state| counts.add(state));
        counts
    }

    /// Counts a node in this state.
    pub fn add(&mut self, state: NodeState) {
        self.count(state, |number| *number += 1);
    }

    /// Removes a node that was counted in this state.
    pub fn remove(&mut self, state: NodeState) {
        self.count(state, |number| *number = number.saturating_sub(1));
    }

    fn count(&mut self, state: NodeState, step: fn(&mut usize)) {
        step(&mut self.total);
        let NodeState { phase, is_updated, is_available, is_degraded, .. } = state;
        let of_phase = match phase {
            Phase::Draining => Some(&mut self.draining),
            Phase::Pending => Some(&mut self.pending),
            Phase::Paused => Some(&mut self.excluded),
            Phase::Updated => Some(&mut self.updated),
            Phase::Updating | Phase::Rebooting => None,
        };
        of_phase.into_iter().for_each(step);
        let flags = [
            (is_updated, &mut self.at_target),
            (is_available, &mut self.available),
            (is_degraded, &mut self.degraded),
            (state.is_in_progress(), &mut self.in_progress),
            (state.is_in_progress() && !is_degraded, &mut self.progressing),
        ];
        flags.into_iter().filter(|(counts, _)| *counts).for_each(|(_, number)| step(number));
    }

    /// Returns the number of nodes.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns the number of nodes excluded by a paused pool.
    pub fn excluded(&self) -> usize {
        self.excluded
    }

    /// Returns the number of nodes that are not in phase `Updated`. In its line on omitted nodes, `oc` instead
    /// counts the nodes that do not run the target version.
    pub fn outdated(&self) -> usize {
        self.total - self.updated
    }

    /// Returns the assessment of the pool; the first match counts. For a pool without nodes, `oc` shows `Empty`.
    pub(crate) fn assessment(&self) -> PoolAssessment {
        if self.updated == self.total {
            PoolAssessment::Completed
        } else if self.pending == self.total {
            PoolAssessment::Pending
        } else if self.degraded > 0 {
            PoolAssessment::Degraded
        } else if self.excluded > 0 {
            PoolAssessment::Excluded
        } else {
            PoolAssessment::Progressing
        }
    }

    /// Returns the percentage of updated nodes, 100 for a pool without nodes.
    fn completion(&self) -> i32 {
        percent(self.updated, self.total)
    }

    fn summaries(&self) -> Vec<PoolNodesUpdateSummary> {
        use PoolNodesSummaryType as Type;
        let counts = [
            (Type::Total, self.total),
            (Type::Available, self.available),
            (Type::Progressing, self.progressing),
            (Type::Outdated, self.outdated()),
            (Type::Draining, self.draining),
            (Type::Excluded, self.excluded),
            (Type::Degraded, self.degraded),
        ];
        let number =
            |count: usize| i32::try_from(count.min(PoolNodesUpdateSummary::MOST)).unwrap_or(i32::MAX);
        counts.map(|(kind, count)| PoolNodesUpdateSummary { kind, count: number(count) }).into()
    }

    /// Returns whether the pool is updating: a node is, or some nodes are updated while others wait.
    fn is_updating(&self) -> bool {
        self.in_progress > 0 || (self.updated > 0 && self.pending > 0)
    }
}

/// Assesses a pool from the counts of its nodes. The transition time of its conditions becomes `now`.
pub fn assess(pool: &Pool, counts: &NodeCounts, now: Time) -> MachineConfigPoolStatusInsight {
    let condition = |kind: &str, (status, reason, message): (&str, &str, String)| InsightCondition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        last_transition_time: Some(now),
        reason: reason.to_owned(),
        message,
    };
    MachineConfigPoolStatusInsight {
        conditions: vec![
            condition("Updating", updating(counts)),
            condition("Healthy", healthy(pool, counts)),
        ],
        name: pool.name.clone(),
        resource: ResourceRef::machine_config_pool(&pool.name),
        scope_type: ScopeType::for_pool(pool.is_control_plane()),
        assessment: counts.assessment(),
        completion: counts.completion(),
        summaries: counts.summaries(),
    }
}

fn updating(counts: &NodeCounts) -> (&'static str, &'static str, String) {
    let NodeCounts { total, updated, .. } = counts;
    let (status, reason) = if counts.is_updating() {
        ("True", "Progressing")
    } else if updated == total {
        ("False", "Updated")
    } else if counts.excluded > 0 {
        ("False", "Paused")
    } else {
        ("False", "Pending")
    };
    (status, reason, format!("{updated} of {total} nodes are updated"))
}

fn healthy(pool: &Pool, counts: &NodeCounts) -> (&'static str, &'static str, String) {
    let NodeCounts { total, degraded, .. } = counts;
    match &pool.degraded {
        _ if *degraded > 0 => ("False", "NodesDegraded", format!("{degraded} of {total} nodes are degraded")),
        Some(degraded) => ("False", "PoolDegraded", degraded.message.clone()),
        None => ("True", "AsExpected", String::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A node in this phase, without problems.
    fn at(phase: Phase) -> NodeState {
        let (is_updating, is_updated) = (phase.is_in_progress(), phase == Phase::Updated);
        NodeState { phase, is_updating, is_updated, rollout: phase, is_available: true, is_degraded: false }
    }

    /// Assessment, completion, `Updating`, `Healthy` and the nonzero summaries of a pool with nodes in these
    /// phases.
    fn assessed(phases: &[Phase], degraded: usize) -> Vec<String> {
        let mut counts = NodeCounts::default();
        for (index, phase) in phases.iter().enumerate() {
            let (is_degraded, is_available) = (index < degraded, *phase == Phase::Updated);
            counts.add(NodeState { is_available, is_degraded, ..at(*phase) });
        }
        let pool = Pool::read(&json!({"metadata": {"name": "worker"}}));
        let insight = assess(&pool, &counts, "2024-01-01T00:00:00Z".parse().unwrap());
        let insight = serde_json::to_value(insight).unwrap();
        let condition = |at: usize| {
            let condition = &insight["conditions"][at];
            format!("{} {}", condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
        };
        let summaries = insight["summaries"].as_array().unwrap().iter().filter(|one| one["count"] != 0);
        let summaries: Vec<String> =
            summaries.map(|one| format!("{} {}", one["count"], one["type"].as_str().unwrap())).collect();
        let head = format!("{} {}%", insight["assessment"].as_str().unwrap(), insight["completion"]);
        vec![head, condition(0), condition(1), summaries.join(", ")]
    }

    #[test]
    fn a_pool_moves_from_pending_to_completed_with_its_nodes() {
        use Phase::{Draining, Paused, Pending, Rebooting, Updated, Updating};
        const WELL: &str = "True AsExpected";
        let cases: [(&[Phase], usize, [&str; 4]); 9] = [
            (&[], 0, ["Completed 100%", "False Updated", WELL, ""]),
            (&[Pending; 3], 0, ["Pending 0%", "False Pending", WELL, "3 Total, 3 Outdated"]),
            (
                &[Draining, Pending, Pending],
                0,
                [
                    "Progressing 0%",
                    "True Progressing",
                    WELL,
                    "3 Total, 1 Progressing, 3 Outdated, 1 Draining",
                ],
            ),
            (
                &[Updated, Pending, Pending],
                0,
                ["Progressing 33%", "True Progressing", WELL, "3 Total, 1 Available, 2 Outdated"],
            ),
            (
                &[Updated, Updating, Rebooting],
                0,
                [
                    "Progressing 33%",
                    "True Progressing",
                    WELL,
                    "3 Total, 1 Available, 2 Progressing, 2 Outdated",
                ],
            ),
            (
                &[Draining, Pending],
                1,
                [
                    "Degraded 0%",
                    "True Progressing",
                    "False NodesDegraded",
                    "2 Total, 2 Outdated, 1 Draining, 1 Degraded",
                ],
            ),
            (&[Paused; 2], 0, ["Excluded 0%", "False Paused", WELL, "2 Total, 2 Outdated, 2 Excluded"]),
            (
                &[Updating, Paused],
                0,
                ["Excluded 0%", "True Progressing", WELL, "2 Total, 1 Progressing, 2 Outdated, 1 Excluded"],
            ),
            (&[Updated; 2], 0, ["Completed 100%", "False Updated", WELL, "2 Total, 2 Available"]),
        ];
        for (phases, degraded, wanted) in cases {
            assert_eq!(assessed(phases, degraded), wanted, "{phases:?}");
        }
    }

    #[test]
    fn completion_is_below_100_percent_until_all_nodes_are_updated() {
        let mut phases = vec![Phase::Updated; 199];
        phases.push(Phase::Pending);
        assert_eq!(assessed(&phases, 0)[0], "Progressing 99%");
    }

    #[test]
    fn removing_a_node_undoes_all_of_its_counts() {
        let state = NodeState { is_degraded: true, ..at(Phase::Draining) };
        let mut counts = NodeCounts::default();
        counts.add(state);
        assert_ne!(counts, NodeCounts::default());
        counts.remove(state);
        assert_eq!(counts, NodeCounts::default());
    }

    #[test]
    fn summaries_are_limited_to_the_maximum_of_the_api() {
        let mut counts = NodeCounts::default();
        (0..5000).for_each(|_| counts.add(at(Phase::Updated)));
        let summaries: Value = serde_json::to_value(counts.summaries()).unwrap();
        assert_eq!(summaries[0], json!({"type": "Total", "count": 4096}));
        assert_eq!(counts.completion(), 100);
        let pool = Pool::read(&json!({"metadata": {"name": "worker"}}));
        let insight = assess(&pool, &counts, "2024-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(insight.updated_of(), Some((5000, 5000)));
    }
}
