//! Finds changes that remove the annotation of a fault.

use windtunnel_controllers::faults::{ANNOTATION, NONE};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES, PODS};
use windtunnel_core::{Change, ChangeKind, Object, View};

use super::observer::Observer;
use crate::plan::FaultTarget;

/// The targets whose fault annotation a user removed, which ends their faults.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Unannotated(Vec<FaultTarget>);

impl Unannotated {
    /// Takes the targets since the last call.
    pub(in crate::engine) fn take(&mut self) -> Vec<FaultTarget> {
        std::mem::take(&mut self.0)
    }
}

impl Observer for Unannotated {
    fn on_change(&mut self, change: &Change, _: &View, _: Time) {
        self.0.extend(target_without_annotation(change));
    }
}

/// Returns the target of a fault whose annotation this change removes.
fn target_without_annotation(change: &Change) -> Option<FaultTarget> {
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
