//! `fault` and `heal`: what goes wrong, and well again.

use super::plan::Action;
use super::reader::{Map, Reader};
use crate::base::yaml::Node;
use crate::model::fault::{Fault, FaultKind, Faulty};

const OPERATOR: &str = "the name of a ClusterOperator such as `etcd`";
const NODE: &str = "the name of a node such as `worker-0`";

/// `fault: {operator: etcd, is: degraded, reason: EtcdMembersDegraded, message: ...}`, `fault: {node: worker-0, is: not-ready}`.
pub(super) fn fault(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let shape = "a fault such as `{operator: etcd, is: degraded}` or `{node: worker-0, is: not-ready}`";
    let map = reader.map(node, shape, &["operator", "node", "is", "reason", "message"])?;
    let faulty = faulty(reader, node, &map);
    let words: &[&str] = match faulty {
        Some(Faulty::Node(_)) => &FaultKind::OF_NODES,
        _ => &FaultKind::OF_OPERATORS,
    };
    let known = format!("one of `{}`", words.join("`, `"));
    let kind = map.required(reader, "is", &known).and_then(|node| reader.word(node, words));
    let mut text = |key, what| map.get(key).and_then(|node| reader.text(node, what)).unwrap_or_default();
    let (reason, message) = (text("reason", "a reason"), text("message", "a message"));
    let fault = Fault { kind: FaultKind::named(kind?)?, reason, message };
    Some(Action::Fault { faulty: faulty?, fault: Some(fault) })
}

/// `heal: {operator: etcd}`, `heal: {node: worker-0}`.
pub(super) fn heal(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let map = reader.map(node, "what to heal, such as `{operator: etcd}`", &["operator", "node"])?;
    Some(Action::Fault { faulty: faulty(reader, node, &map)?, fault: None })
}

/// Who it is: an operator or a node.
fn faulty(reader: &mut Reader<'_>, at: &Node, map: &Map<'_>) -> Option<Faulty> {
    match (map.get("operator"), map.get("node")) {
        (Some(_), Some(node)) => {
            reader.problem(node, "it is an `operator` or a `node`, not both".to_owned());
            None
        }
        (None, Some(node)) => reader.text(node, NODE).map(Faulty::Node),
        (Some(operator), None) => reader.text(operator, OPERATOR).map(Faulty::Operator),
        (None, None) => {
            reader.problem(at, format!("needs `operator` ({OPERATOR}) or `node` ({NODE})"));
            None
        }
    }
}
