//! Flips the rendered configuration of a pool: a MachineConfig that it selects is created and deleted, one
//! change a minute.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Write;
use windtunnel_core::resources::MACHINE_CONFIGS;

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;

/// The time between two changes.
pub(in crate::engine) const PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// The remaining changes of a pool, including the next one. With an even number left, the next change creates
/// the MachineConfig; with an uneven number, it deletes it.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Flips {
    pool: String,
    left: u32,
}

impl Flips {
    /// A MachineConfig that is created and deleted `times` times.
    pub(in crate::engine) fn new(pool: &str, times: u32) -> Self {
        Self { pool: pool.to_owned(), left: times.saturating_mul(2) }
    }

    pub(in crate::engine) fn pool(&self) -> &str {
        &self.pool
    }

    /// The changes after the next one, if there are any.
    pub(in crate::engine) fn rest(&self) -> Option<Self> {
        (self.left > 1).then(|| Self { pool: self.pool.clone(), left: self.left - 1 })
    }
}

impl Simulation {
    /// Makes the next change of a pool.
    pub(in crate::engine) fn flip(&mut self, flips: &Flips) -> Result<(), SessionError> {
        let name = config_name(&flips.pool);
        if flips.left % 2 == 1 {
            return self.delete_if_there(&MACHINE_CONFIGS, "", &name);
        }
        if flips.left == 0 || self.view.get(&MACHINE_CONFIGS, "", &name).is_some() {
            return Ok(());
        }
        self.administer(&Write::create(&MACHINE_CONFIGS, machine_config(&name, &flips.pool)))
    }
}

/// The name of the MachineConfig of a pool.
pub(in crate::engine) fn config_name(pool: &str) -> String {
    format!("99-{pool}-flips")
}

fn machine_config(name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": { "name": name, "labels": { "machineconfiguration.openshift.io/role": pool } },
        "spec": { "config": { "ignition": { "version": "3.2.0" } }, "kernelArguments": ["flips"] },
    })
}
