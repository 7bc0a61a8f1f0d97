//! KubeletConfigs and ContainerRuntimeConfigs: settings of nodes that an administrator gives for pools, and the
//! MachineConfigs that the controller makes of them (`99-<pool>-generated-kubelet` and the like).
//!
//! [`contents`] has what is valid and which files it becomes, [`controller`] the controller.

mod contents;
pub(super) mod controller;
#[cfg(test)]
mod tests;

use windtunnel_core::resources::{CONTAINER_RUNTIME_CONFIGS, KUBELET_CONFIGS};
use windtunnel_core::{Object, Resource, View};

pub(super) use self::contents::file;
use super::membership::selects;

/// The annotation with the number at the end of the MachineConfigs' names; empty for the first object of a pool.
const SUFFIX: &str = "machineconfiguration.openshift.io/mc-name-suffix";
/// The most objects of a kind for a pool, less the first.
const SUFFIX_MAX: u32 = 9;

/// A kind of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settings {
    Kubelet,
    ContainerRuntime,
}

impl Settings {
    /// All kinds.
    const ALL: [Self; 2] = [Self::Kubelet, Self::ContainerRuntime];

    fn resource(self) -> Resource {
        match self {
            Self::Kubelet => KUBELET_CONFIGS,
            Self::ContainerRuntime => CONTAINER_RUNTIME_CONFIGS,
        }
    }

    /// The end of the MachineConfigs' names.
    fn ending(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::ContainerRuntime => "containerruntime",
        }
    }

    /// The kind as messages begin with it.
    fn label(self) -> &'static str {
        match self {
            Self::Kubelet => "KubeletConfig",
            Self::ContainerRuntime => "containerRuntimeConfig",
        }
    }

    /// Why there can be no further object for a pool.
    fn too_many(self) -> &'static str {
        match self {
            Self::Kubelet => {
                "could not get kubelet config key: max number of supported kubelet config (10) has been reached. Please delete old kubelet configs before retrying"
            }
            Self::ContainerRuntime => {
                "could not get ctrcfg key: max number of supported ctrcfgs (10) has been reached. Please delete old ctrcfgs before retrying"
            }
        }
    }

    /// The name of the MachineConfig for a pool.
    ///
    /// # Errors
    /// The message of the controller: there are too many objects.
    fn config_name(self, object: &Object, pool: &Object, view: &View) -> Result<String, String> {
        let first = format!("99-{}-generated-{}", pool.name(), self.ending());
        let numbered =
            |suffix: &str| if suffix.is_empty() { first.clone() } else { format!("{first}-{suffix}") };
        if let Some(suffix) = object.annotation(SUFFIX) {
            return Ok(numbered(suffix));
        }
        let others = || view.list(&self.resource()).filter(|other| selects_pool(other, pool));
        if others().count() <= 1 {
            return Ok(first);
        }
        let used = others().filter_map(|other| other.annotation(SUFFIX)?.parse::<u32>().ok()).max();
        match used.unwrap_or_default() + 1 {
            next if next > SUFFIX_MAX => Err(self.too_many().to_owned()),
            next => Ok(numbered(&next.to_string())),
        }
    }
}

/// Returns whether an object of a kind of settings is for this pool.
fn selects_pool(object: &Object, pool: &Object) -> bool {
    selects(&object["spec"]["machineConfigPoolSelector"], pool)
}
