//! Transitions of ClusterOperator conditions, which the cluster-version operator counts in memory.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CLUSTER_OPERATORS, PODS};
use windtunnel_core::{Change, ChangeKind, condition, text_of};

use super::{number, operator};
use crate::promql::SampleCollector;

/// The counts since the operator's pod was created, by operator and condition.
#[derive(Debug, Clone, Default)]
pub struct Transitions {
    counts: BTreeMap<(String, String), u32>,
}

impl Transitions {
    /// Returns whether a change can affect the counts.
    pub fn are_touched_by(change: &Change) -> bool {
        change.key.is_kind(&CLUSTER_OPERATORS)
            || change.key.is_kind(&PODS) && change.kind == ChangeKind::Deleted
    }

    /// Counts the transitions in a change. The counts are reset when the operator's pod is deleted.
    pub fn notice(&mut self, change: &Change) {
        if change.key.is_kind(&PODS)
            && change.kind == ChangeKind::Deleted
            && operator::is_operator(&change.object)
        {
            self.counts.clear();
        }
        let Some(old) = change.old.as_ref().filter(|_| change.key.is_kind(&CLUSTER_OPERATORS)) else {
            return;
        };
        if change.kind != ChangeKind::Modified {
            return;
        }
        let before = old.conditions();
        for condition in change.object.conditions() {
            let kind = condition::type_of(condition);
            let known = condition::find(before, kind);
            if known.is_some_and(|known| text_of(known, "status") != text_of(condition, "status")) {
                let counted = (change.object.name().to_owned(), kind.to_owned());
                *self.counts.entry(counted).or_default() += 1;
            }
        }
    }

    /// Collects `cluster_operator_condition_transitions`.
    pub(super) fn collect(&self, taken: &mut SampleCollector<'_>) {
        for ((name, condition), count) in &self.counts {
            operator::offer(taken, &[("name", name), ("condition", condition)], number(i64::from(*count)));
        }
    }
}
