//! The nodes of the control plane.

use windtunnel_core::{Object, View};

/// The label of control-plane nodes.
pub(crate) const MASTER_LABEL: &str = "node-role.kubernetes.io/master";

/// Returns whether a node belongs to the control plane.
pub(crate) fn is_master(node: &Object) -> bool {
    node.label(MASTER_LABEL).is_some()
}

/// Returns the nodes of the control plane.
pub(crate) fn masters(view: &View) -> Vec<&Object> {
    view.nodes_of_role("master").collect()
}
