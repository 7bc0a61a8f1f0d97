//! Reports of operators that follow from nodes that are not ready.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::condition::is_true;
use windtunnel_core::resources::NODES;

/// The reasons by which operators report that their pods on such nodes are missing.
const REASONS: [&str; 4] =
    ["APIServerDeployment_UnavailablePod", "DNSDegraded", "NodeController_MasterNodesReady", "RolloutHung"];
/// How long such a report can stay after the nodes are back.
const LAG: SignedDuration = SignedDuration::from_mins(5);

/// The nodes of a record that are not ready.
#[derive(Debug, Default)]
pub(super) struct NodesAway {
    names: BTreeSet<String>,
    /// When the last one came back.
    back_at: Option<Time>,
}

impl NodesAway {
    /// Notices the new state of an object.
    pub(super) fn notice(&mut self, object: &Object, at: Time) {
        if object.text("/kind") != NODES.kind {
            return;
        }
        if !is_true(object, "Ready") {
            self.names.insert(object.name().to_owned());
        } else if self.names.remove(object.name()) {
            self.back_at = Some(at);
        }
    }

    /// Whether nodes explain that an operator reports a failure with this reason.
    pub(super) fn explain(&self, reason: &str, at: Time) -> bool {
        let is_recent =
            !self.names.is_empty() || self.back_at.is_some_and(|back_at| at <= after(back_at, LAG));
        is_recent && REASONS.contains(&reason)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(ready: &str) -> Object {
        let conditions = json!([{ "type": "Ready", "status": ready }]);
        Object::new(
            json!({ "kind": "Node", "metadata": { "name": "n" }, "status": { "conditions": conditions } }),
        )
    }

    #[test]
    fn nodes_explain_reports_while_they_are_away_and_a_little_longer() {
        let at = |minute: i64| Time::from_second(minute * 60).unwrap();
        let mut away = NodesAway::default();
        assert!(!away.explain("DNSDegraded", at(1)));
        away.notice(&node("Unknown"), at(1));
        assert!(away.explain("DNSDegraded", at(100)));
        assert!(!away.explain("EtcdMembersDegraded", at(100)));
        away.notice(&node("True"), at(100));
        assert!(away.explain("RolloutHung", at(105)));
        assert!(!away.explain("RolloutHung", at(106)));
    }
}
