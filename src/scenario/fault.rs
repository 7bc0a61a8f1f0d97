//! `fault` and `heal`: what goes wrong, and well again.

use super::plan::Action;
use super::reader::Reader;
use crate::base::yaml::Node;
use crate::model::fault::{Fault, FaultKind};

const OPERATOR: &str = "the name of a ClusterOperator such as `etcd`";

/// `fault: {operator: etcd, is: degraded, reason: EtcdMembersDegraded, message: ...}`.
pub(super) fn fault(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let shape = "a fault such as `{operator: etcd, is: degraded}`";
    let map = reader.map(node, shape, &["operator", "is", "reason", "message"])?;
    let operator = map.required(reader, "operator", OPERATOR).and_then(|node| reader.text(node, OPERATOR));
    let words = format!("one of `{}`", FaultKind::WORDS.join("`, `"));
    let kind = map.required(reader, "is", &words).and_then(|node| reader.word(node, &FaultKind::WORDS));
    let mut text = |key, what| map.get(key).and_then(|node| reader.text(node, what)).unwrap_or_default();
    let (reason, message) = (text("reason", "a reason"), text("message", "a message"));
    let fault = Fault { kind: FaultKind::named(kind?)?, reason, message };
    Some(Action::Fault { operator: operator?, fault: Some(fault) })
}

/// `heal: {operator: etcd}`.
pub(super) fn heal(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let map = reader.map(node, "what to heal, such as `{operator: etcd}`", &["operator"])?;
    let operator = map.required(reader, "operator", OPERATOR).and_then(|node| reader.text(node, OPERATOR));
    Some(Action::Fault { operator: operator?, fault: None })
}
