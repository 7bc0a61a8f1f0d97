//! Finds changes that remove the annotation of a fault.

use windtunnel_controllers::faults::{ANNOTATION, NONE};
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES, PODS};
use windtunnel_core::{Change, ChangeKind, Object};

use crate::plan::FaultTarget;

/// Returns the target of a fault whose annotation this change removes.
pub(in crate::engine) fn target_without_annotation(change: &Change) -> Option<FaultTarget> {
    let has_fault = |object: &Object| object.annotation(ANNOTATION).is_some_and(|fault| fault != NONE);
    let old = change.old.as_ref().filter(|old| has_fault(old))?;
    if change.kind == ChangeKind::Deleted || change.object.annotation(ANNOTATION).is_some() {
        return None;
    }
    let name = old.name().to_owned();
    if change.key.is_kind(&CLUSTER_OPERATORS) {
        return Some(FaultTarget::Operator(name));
    }
    if change.key.is_kind(&NODES) {
        return Some(FaultTarget::Node(name));
    }
    if change.key.is_kind(&MACHINE_CONFIG_POOLS) {
        return Some(FaultTarget::Pool(name));
    }
    let namespace = old.namespace().to_owned();
    change.key.is_kind(&PODS).then_some(FaultTarget::Pods { namespace, name })
}
