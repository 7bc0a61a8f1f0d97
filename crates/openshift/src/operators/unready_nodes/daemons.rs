//! Reports about DaemonSets with missing pods on unready nodes: the operator is Progressing until the nodes
//! are back.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::NODES;
use windtunnel_core::{Change, ChangeKind, Object, View};

use crate::operators::health::WELL;
use crate::operators::reported_version;

/// The network's DaemonSet that represents all its DaemonSets in reports about nodes.
const MULTUS: &str = "DaemonSet \"/openshift-multus/multus\"";

/// Whether a message of the network operator is a report about unready nodes.
pub(in crate::operators) fn is_about_nodes(message: &str) -> bool {
    message.starts_with(MULTUS)
}

/// The operator of a DaemonSet with a pod on each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Network,
    Dns,
}

/// The nodes of a DaemonSet.
#[derive(Debug, Clone)]
pub(super) struct Daemons {
    owner: Owner,
    all: BTreeSet<String>,
    away: BTreeSet<String>,
}

impl Daemons {
    /// The nodes of an operator that reports its DaemonSets.
    pub(super) fn of(cluster_operator: &str) -> Option<Self> {
        let owner = match cluster_operator {
            "network" => Owner::Network,
            "dns" => Owner::Dns,
            _ => return None,
        };
        Some(Self { owner, all: BTreeSet::new(), away: BTreeSet::new() })
    }

    /// Adds the existing nodes.
    pub(super) fn begin(&mut self, view: &View) {
        for node in view.list(&NODES) {
            self.put(node);
        }
    }

    /// Applies changes of nodes. Returns whether a node became ready or unready.
    pub(super) fn notice(&mut self, changes: &[Change]) -> bool {
        let mut moved = false;
        for change in changes.iter().filter(|change| change.key.is_kind(&NODES)) {
            moved |= match change.kind {
                ChangeKind::Deleted => {
                    self.all.remove(&change.key.name);
                    self.away.remove(&change.key.name)
                }
                _ => self.put(&change.object),
            };
        }
        moved
    }

    fn put(&mut self, node: &Object) -> bool {
        let name = node.name();
        if !self.all.contains(name) {
            self.all.insert(name.to_owned());
        }
        if condition::is_true(node, "Ready") {
            self.away.remove(name)
        } else {
            !self.away.contains(name) && self.away.insert(name.to_owned())
        }
    }

    /// The new `Progressing` condition. `None` if it has another cause, so that it is kept.
    pub(super) fn judge(&self, current: Option<&Condition>, object: &Value) -> Option<Condition> {
        // With all nodes unready, the operator cannot run either.
        if !self.away.is_empty() && self.away.len() == self.all.len() {
            return None;
        }
        let is_own = current.is_some_and(|current| self.is_own(current));
        if self.away.is_empty() {
            let version = reported_version(object).filter(|_| is_own)?;
            return Some(Condition::new("Progressing", "False", WELL, format!("Deployed {version}")));
        }
        let is_free = current.is_some_and(|current| current.status == "False") || is_own;
        is_free.then(|| Condition::new("Progressing", "True", self.reason(), self.message()))
    }

    /// Whether a condition is its report about nodes. The network operator has the same reason for reports about
    /// its DaemonSets.
    fn is_own(&self, condition: &Condition) -> bool {
        condition.reason == self.reason() && (self.owner == Owner::Dns || is_about_nodes(&condition.message))
    }

    /// The reason of its report about nodes.
    fn reason(&self) -> &'static str {
        match self.owner {
            Owner::Network => "Deploying",
            Owner::Dns => "DNSReportsProgressingIsTrue",
        }
    }

    fn message(&self) -> String {
        let (all, away) = (self.all.len(), self.away.len());
        match self.owner {
            Owner::Network => {
                format!("{MULTUS} is not available (awaiting {away} nodes)")
            }
            Owner::Dns => {
                let pods = format!("Have {} available node-resolver pods, want {all}.", all - away);
                format!("DNS \"default\" reports Progressing=True: \"{pods}\"")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(name: &str, ready: &str, kind: ChangeKind) -> Change {
        let condition = json!({ "type": "Ready", "status": ready });
        let object =
            Object::new(json!({ "metadata": { "name": name }, "status": { "conditions": [condition] } }));
        Change { key: NODES.key("", name), kind, object, old: None }
    }

    /// A cluster of three nodes, as an operator sees it.
    fn three(cluster_operator: &str) -> Daemons {
        let mut daemons = Daemons::of(cluster_operator).unwrap();
        assert!(!daemons.notice(&["a", "b", "c"].map(|name| change(name, "True", ChangeKind::Added))));
        daemons
    }

    fn progressing_text(daemons: &Daemons, current: &Condition) -> Option<String> {
        let object = json!({ "status": { "versions": [{ "name": "operator", "version": "4.18.3" }] } });
        let judged = daemons.judge(Some(current), &object)?;
        Some(format!("{} {} {}", judged.status, judged.reason, judged.message))
    }

    #[test]
    fn reports_unready_nodes_until_they_are_ready_or_deleted() {
        let well = Condition::new("Progressing", "False", WELL, "Deployed 4.18.3");
        let network =
            "True Deploying DaemonSet \"/openshift-multus/multus\" is not available (awaiting 1 nodes)";
        let dns = "True DNSReportsProgressingIsTrue DNS \"default\" reports Progressing=True: \
                   \"Have 2 available node-resolver pods, want 3.\"";
        for (operator, text) in [("network", network), ("dns", dns)] {
            let mut daemons = three(operator);
            assert_eq!(progressing_text(&daemons, &well), None);
            assert!(daemons.notice(&[change("b", "Unknown", ChangeKind::Modified)]));
            assert_eq!(progressing_text(&daemons, &well).as_deref(), Some(text));
            assert!(!daemons.notice(&[change("b", "False", ChangeKind::Modified)]));
            let own = daemons.judge(Some(&well), &Value::Null).unwrap();
            assert!(daemons.notice(&[change("b", "False", ChangeKind::Deleted)]));
            assert_eq!(progressing_text(&daemons, &own).as_deref(), Some("False AsExpected Deployed 4.18.3"));
        }
    }

    #[test]
    fn reports_nothing_during_a_rollout_or_with_all_nodes_unready() {
        let mut daemons = three("network");
        daemons.notice(&[change("a", "False", ChangeKind::Modified)]);
        let working = Condition::new("Progressing", "True", "Progressing", "Working towards 4.18.7");
        assert_eq!(progressing_text(&daemons, &working), None);
        daemons.notice(&["b", "c"].map(|name| change(name, "False", ChangeKind::Modified)));
        let well = Condition::new("Progressing", "False", WELL, "Deployed 4.18.3");
        assert_eq!(progressing_text(&daemons, &well), None);
    }
}
