//! Events about nodes and the pods on them.

use windtunnel_core::{Key, Object};

use crate::event_log::{EventLog, Reference};
use crate::recorder::Notice;

/// The reporting component, which differs from the name of the process.
const COMPONENT: &str = "node-controller";
const NOT_READY: &str = "NodeNotReady";

/// The Events of the controller.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    /// About nodes.
    pub(super) nodes: EventLog,
    /// About pods that become unready with their node.
    pub(super) pods: EventLog,
    /// About pods that are evicted.
    pub(super) evictions: EventLog,
}

impl Default for Logs {
    fn default() -> Self {
        Self {
            nodes: EventLog::of(COMPONENT).with_reference(Reference::Uid),
            pods: EventLog::of(COMPONENT),
            evictions: EventLog::of("").with_reference(Reference::Name),
        }
    }
}

impl Logs {
    /// Forgets a deleted object.
    pub(super) fn forget(&mut self, object: &Key) {
        for log in [&mut self.nodes, &mut self.pods, &mut self.evictions] {
            log.forget(object);
        }
    }
}

/// The Event for a node that the controller sees for the first time.
pub(super) fn registered(node: &str) -> Notice {
    let text = format!("Node {node} event: Registered Node {node} in Controller");
    Notice::normal("RegisteredNode", text)
}

/// The Event for a deleted node.
pub(super) fn removed(node: &str) -> Notice {
    let text = format!("Node {node} event: Removing Node {node} from Controller");
    Notice::normal("RemovingNode", text)
}

/// The Event for a ready node that becomes unreachable.
pub(super) fn node_not_ready(node: &Object) -> Notice {
    Notice::normal(NOT_READY, format!("Node {} status is now: {NOT_READY}", node.name()))
}

/// The Event for a pod that becomes unready with its node.
pub(super) fn pod_not_ready() -> Notice {
    Notice::warning(NOT_READY, "Node is not ready")
}

/// The Event for a pod that is evicted, or whose eviction is canceled.
pub(super) fn eviction(pod: &Object, is_canceled: bool) -> Notice {
    let begin = if is_canceled { "Cancelling deletion of" } else { "Marking for deletion" };
    Notice::normal("TaintManagerEviction", format!("{begin} Pod {}/{}", pod.namespace(), pod.name()))
}
