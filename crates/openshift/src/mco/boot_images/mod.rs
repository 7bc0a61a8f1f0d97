//! The boot images of the machines, as recorded in MachineConfiguration `cluster` (from 4.22 on). A cluster whose
//! boot images are too old may not be updated to another minor.
//!
//! The operator ([`configuration`]) chooses the mode of the check, the controller ([`controller`]) records the
//! boot images that it installed, and the operator's Upgradeable condition applies the limit ([`guard`]). There
//! are no MachineSets, so the controller has nothing to change.

pub(super) mod configuration;
pub(super) mod controller;
pub(super) mod guard;
#[cfg(test)]
mod tests;

use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, MACHINE_CONFIGURATIONS};
use windtunnel_core::{Key, View};

use super::{controller_line, node_disruption};
use crate::manifests::MajorMinor;

/// The first minor that checks boot images in every feature set.
const FIRST: MajorMinor = (4, 22);
/// The name of the CustomResourceDefinition.
const DEFINITION: &str = "machineconfigurations.operator.openshift.io";

/// The key of the only MachineConfiguration.
pub(super) fn key() -> Key {
    MACHINE_CONFIGURATIONS.key("", "cluster")
}

/// Returns whether the operator of the controller's release keeps a MachineConfiguration.
fn exists(view: &View) -> bool {
    controller_line(view) >= node_disruption::FIRST
        && view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION).is_some()
}

/// Returns whether the components of the controller's release use the kind for boot images.
fn is_in_use(view: &View) -> bool {
    controller_line(view) >= FIRST && view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION).is_some()
}
