//! On-cluster layering (from 4.18 on): custom images of the operating system that the cluster builds itself.
//!
//! A MachineOSConfig says what is added to the operating system of a pool. For each rendered MachineConfig of
//! that pool, the builder creates a MachineOSBuild. When the build has succeeded, the node controller assigns
//! the image to the nodes, and their daemons apply it with a reboot.

mod state;
#[cfg(test)]
mod tests;

use windtunnel_core::resources::{
    CUSTOM_RESOURCE_DEFINITIONS, MACHINE_OS_BUILDS, MACHINE_OS_CONFIGS, SECRETS,
};
use windtunnel_core::{Object, View, pool};

use super::{NAMESPACE, controller_line};
use crate::manifests::MajorMinor;
pub(super) use state::BuildState;

/// The first minor that builds images in every feature set.
pub(super) const FIRST: MajorMinor = (4, 18);
/// The name of the CustomResourceDefinition.
pub(super) const DEFINITION: &str = "machineosconfigs.machineconfiguration.openshift.io";
/// The ServiceAccount of the builder and of its pods.
pub(super) const BUILDER: &str = "machine-os-builder";
/// On MachineOSConfigs: their current MachineOSBuild.
pub(super) const CURRENT_BUILD: &str = "machineconfiguration.openshift.io/current-machine-os-build";
/// Returns whether the components of the controller's release build images.
pub(super) fn is_in_use(view: &View) -> bool {
    controller_line(view) >= FIRST && view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION).is_some()
}

/// The custom image of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layering<'a> {
    /// The pool's MachineOSConfig.
    pub(super) config: &'a Object,
    /// The MachineOSBuild for the pool's rendered MachineConfig, if it exists.
    pub(super) build: Option<&'a Object>,
}

impl<'a> Layering<'a> {
    /// The custom image of `pool`. `None` if it has no MachineOSConfig.
    pub(super) fn of(pool: &Object, view: &'a View) -> Option<Self> {
        let is_of_pool = |config: &&Object| config.text("/spec/machineConfigPool/name") == pool.name();
        let config = view.list(&MACHINE_OS_CONFIGS).filter(|_| is_in_use(view)).find(is_of_pool)?;
        let rendered = pool::desired_config(pool);
        let is_for_rendered = |build: &&Object| build.text("/spec/machineConfig/name") == rendered;
        let current = config.annotation(CURRENT_BUILD);
        let current = current.and_then(|name| view.get(&MACHINE_OS_BUILDS, "", name)).filter(is_for_rendered);
        let of_config = |build: &&Object| build.text("/spec/machineOSConfig/name") == config.name();
        let any = || view.list(&MACHINE_OS_BUILDS).filter(of_config).find(is_for_rendered);
        Some(Self { config, build: current.or_else(any) })
    }

    /// The image in the status of the MachineOSConfig, which may be that of an earlier build. Empty before the
    /// first one.
    pub(super) fn last_image(&self) -> &'a str {
        self.config.text("/status/currentImagePullSpec")
    }

    /// The state of the build.
    pub(super) fn state(&self) -> Option<BuildState> {
        self.build.map(BuildState::of)
    }

    /// Returns whether nodes may get the image (`canLayeredContinue`).
    pub(super) fn can_roll_out(&self) -> bool {
        self.state() == Some(BuildState::Succeeded)
            && !self.last_image().is_empty()
            && self
                .build
                .is_some_and(|build| build.text("/status/digestedImagePushSpec") == self.last_image())
    }

    /// Returns whether the pool is not up to date although all nodes have the last image
    /// (`isLayeredPoolBuilding`).
    pub(super) fn is_pending(&self) -> bool {
        match self.state() {
            Some(BuildState::Prepared | BuildState::Building | BuildState::Failed) => true,
            Some(BuildState::Succeeded) => !self.can_roll_out(),
            _ => false,
        }
    }
}

/// Why the operator cannot start the builder: a Secret of a MachineOSConfig does not exist
/// (`ValidateOnClusterBuildConfig`).
pub(super) fn objection(view: &View) -> Option<String> {
    view.list(&MACHINE_OS_CONFIGS).filter(|_| is_in_use(view)).find_map(|config| {
        let (field, secret) = missing_secret(config, view)?;
        let name = config.name();
        Some(format!(
            "could not update Machine OS Builder deployment: could not validate {field} \"{secret}\" for \
             MachineOSConfig {name}: secret {secret} from {name} is not found. Did you use the right secret name?"
        ))
    })
}

/// The first Secret of a MachineOSConfig that does not exist: its field and its name.
pub(super) fn missing_secret<'a>(config: &'a Object, view: &View) -> Option<(&'static str, &'a str)> {
    ["renderedImagePushSecret", "baseImagePullSecret"].into_iter().find_map(|field| {
        let name = config.text(&format!("/spec/{field}/name"));
        let is_missing = !name.is_empty() && view.get(&SECRETS, NAMESPACE, name).is_none();
        is_missing.then_some((field, name))
    })
}
