//! `fault` and `heal`: what goes wrong, and well again.

use super::object::{self, Star};
use super::plan::Action;
use super::reader::{Map, Reader};
use crate::base::yaml::Node;
use crate::model::fault::{Fault, FaultKind, Faulty};

const OPERATOR: &str = "the name of a ClusterOperator such as `etcd`";
const NODE: &str = "the name of a node such as `worker-0`";

const POD: &str = "pods such as `default/web-*`";

/// `fault: {operator: etcd, is: degraded, reason: EtcdMembersDegraded, message: ...}`, `fault: {node: worker-0, is: not-ready}`,
/// `fault: {pod: default/web-*, is: unready}`.
pub(super) fn fault(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let shape = "a fault such as `{operator: etcd, is: degraded}` or `{node: worker-0, is: not-ready}`";
    let map = reader.map(node, shape, &["operator", "node", "pod", "is", "reason", "message"])?;
    // Who it is says which faults there are.
    let faulty = faulty(reader, node, &map)?;
    let words: &[&str] = match faulty {
        Faulty::Node(_) => &FaultKind::OF_NODES,
        Faulty::Pods { .. } => &FaultKind::OF_PODS,
        Faulty::Operator(_) => &FaultKind::OF_OPERATORS,
    };
    let known = format!("one of `{}`", words.join("`, `"));
    let kind = map.required(reader, "is", &known).and_then(|node| reader.word(node, words));
    let mut text = |key, what| map.get(key).and_then(|node| reader.text(node, what)).unwrap_or_default();
    let (reason, message) = (text("reason", "a reason"), text("message", "a message"));
    let fault = Fault { kind: FaultKind::named(kind?)?, reason, message };
    Some(Action::Fault { faulty, fault: Some(fault) })
}

/// `heal: {operator: etcd}`, `heal: {node: worker-0}`, `heal: {pod: default/web-*}`.
pub(super) fn heal(reader: &mut Reader<'_>, node: &Node) -> Option<Action> {
    let map = reader.map(node, "what to heal, such as `{operator: etcd}`", &["operator", "node", "pod"])?;
    Some(Action::Fault { faulty: faulty(reader, node, &map)?, fault: None })
}

/// Who it is: an operator, a node or pods.
fn faulty(reader: &mut Reader<'_>, at: &Node, map: &Map<'_>) -> Option<Faulty> {
    let told = ["operator", "node", "pod"].map(|key| map.get(key));
    if told.iter().flatten().count() > 1 {
        let message = "it is an `operator`, a `node` or a `pod`, not several";
        reader.problem(told.into_iter().flatten().nth(1)?, message.to_owned());
        return None;
    }
    match told {
        [Some(operator), ..] => reader.text(operator, OPERATOR).map(Faulty::Operator),
        [_, Some(node), _] => reader.text(node, NODE).map(Faulty::Node),
        [.., Some(pod)] => pods(reader, pod),
        _ => {
            reader.problem(at, format!("needs `operator` ({OPERATOR}), `node` ({NODE}) or `pod` ({POD})"));
            None
        }
    }
}

/// `namespace/name`, or all pods that begin so.
fn pods(reader: &mut Reader<'_>, node: &Node) -> Option<Faulty> {
    let text = reader.text(node, POD)?;
    match object::parse(&format!("Pod/{text}"), Star::Allowed) {
        Ok(found) => Some(Faulty::Pods { namespace: found.namespace, name: found.name }),
        Err(_) => {
            reader.problem(node, format!("expected {POD}, found `{text}`"));
            None
        }
    }
}
