//! The writers of statuses.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_openshift::cvo::NAME as CLUSTER_VERSION_OPERATOR;

use super::rule::{ObjectFinding, Rule, Scene, is_of_component};
use crate::record::WriteEvent;

/// The beginning of the names of operators.
const OPERATOR: &str = "operator/";

/// The beginning of the names of machine-config daemons.
const DAEMON: &str = "machine-config-daemon/";

/// The parts of the machine-config operator. Each reports conditions of pools.
const POOL_OWNERS: [&str; 3] = ["machine-config-", "machine-os-builder", "operator/machine-config-operator"];

/// The rule about the writers of statuses.
#[derive(Default)]
pub(super) struct Ownership {
    /// The operators of ClusterOperators, by the names of these.
    operators: BTreeMap<String, String>,
}

impl Ownership {
    /// Returns how the writer of a status is the wrong one.
    fn judge(&mut self, write: &WriteEvent) -> Option<String> {
        let by = write.by.as_str();
        let is_owner = if write.key.is_kind(&CLUSTER_VERSIONS) {
            by == CLUSTER_VERSION_OPERATOR
        } else if write.key.is_kind(&CLUSTER_OPERATORS) {
            by == CLUSTER_VERSION_OPERATOR || self.is_operator(&write.key.name, by)
        } else if write.key.is_kind(&NODES) {
            by == format!("kubelet/{}", write.key.name)
                || !by.starts_with("kubelet/") && !by.starts_with(OPERATOR)
        } else if write.key.is_kind(&MACHINE_CONFIG_POOLS) {
            POOL_OWNERS.iter().any(|owner| by.starts_with(owner))
        } else {
            true
        };
        (!is_owner).then(|| format!("{by} writes its status, which another component owns"))
    }

    /// The first operator that writes a status owns it, and owns only that.
    fn is_operator(&mut self, name: &str, by: &str) -> bool {
        if !by.starts_with(OPERATOR) {
            return true;
        }
        let owns_other = self.operators.iter().any(|(other, owner)| other != name && owner == by);
        !owns_other && self.operators.entry(name.to_owned()).or_insert_with(|| by.to_owned()) == by
    }
}

impl Rule for Ownership {
    fn id(&self) -> String {
        "ownership".to_owned()
    }

    fn before(&mut self, _: &Scene<'_>, write: &WriteEvent) -> Option<ObjectFinding> {
        if write.code >= 400 || !is_of_component(write) {
            return None;
        }
        if let Some(how) = on_another_machine(write) {
            return Some(ObjectFinding::by(write, how));
        }
        if write.subresource != "status" {
            return None;
        }
        let how = self.judge(write)?;
        Some(ObjectFinding::by(write, how))
    }
}

/// A machine-config daemon reports the state of its machine in the annotations of its own node, and in no other (`nodeWriter` in
/// `pkg/daemon/writer.go`).
fn on_another_machine(write: &WriteEvent) -> Option<String> {
    let machine = write.by.strip_prefix(DAEMON).filter(|_| write.key.is_kind(&NODES))?;
    (machine != write.key.name).then(|| format!("{} changes the node of another machine", write.by))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oracles::testing::Story;

    #[test]
    fn each_operator_has_one_cluster_operator() {
        let operator = |name: &str| json!({ "metadata": { "name": name } });
        let story = || {
            Story::new().status(1, "operator/dns-operator", &CLUSTER_OPERATORS, operator("dns")).status(
                2,
                CLUSTER_VERSION_OPERATOR,
                &CLUSTER_OPERATORS,
                operator("dns"),
            )
        };
        assert!(story().findings("ownership").is_empty());
        assert_eq!(
            story()
                .status(3, "operator/dns-operator", &CLUSTER_OPERATORS, operator("etcd"))
                .findings("ownership"),
            ["ClusterOperator/etcd: operator/dns-operator writes its status, which another component owns"]
        );
        let other = story().status(3, "operator/etcd-operator", &CLUSTER_OPERATORS, operator("dns"));
        assert_eq!(other.findings("ownership").len(), 1);
    }

    #[test]
    fn only_the_cluster_version_operator_reports_the_update() {
        let version = json!({ "metadata": { "name": "version" } });
        let found =
            |by: &str| Story::new().status(1, by, &CLUSTER_VERSIONS, version.clone()).findings("ownership");
        assert!(found(CLUSTER_VERSION_OPERATOR).is_empty());
        assert!(found("administrator").is_empty());
        assert_eq!(found("operator/dns-operator").len(), 1);
    }

    #[test]
    fn kubelets_report_their_own_nodes() {
        let node = json!({ "metadata": { "name": "w0" } });
        let found = |by: &str| Story::new().status(1, by, &NODES, node.clone()).findings("ownership");
        assert!(found("kubelet/w0").is_empty());
        assert!(found("node-lifecycle-controller").is_empty());
        assert_eq!(found("kubelet/w1").len(), 1);
    }

    #[test]
    fn daemons_change_their_own_nodes() {
        let node = json!({ "metadata": { "name": "w0" } });
        let found = |by: &str| Story::new().write(1, by, &NODES, node.clone()).findings("ownership");
        assert!(
            found("machine-config-daemon/w0").is_empty()
                && found("machine-config-controller/node").is_empty()
        );
        assert_eq!(
            found("machine-config-daemon/w1"),
            ["Node/w0: machine-config-daemon/w1 changes the node of another machine"]
        );
    }
}
