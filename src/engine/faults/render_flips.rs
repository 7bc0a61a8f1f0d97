//! Flips the rendered configuration of a pool: a MachineConfig that it selects is created and deleted, one
//! change a minute.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::Write;
use windtunnel_core::resources::MACHINE_CONFIGS;

use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::engine::runtime::agenda::Flips;

/// The time between two changes.
pub(in crate::engine) const PAUSE: SignedDuration = SignedDuration::from_mins(1);

impl Simulation {
    /// Makes the next change of a pool.
    pub(in crate::engine) fn flip(&mut self, flips: &Flips) -> Result<(), SessionError> {
        let name = config_name(flips.pool());
        if flips.deletes_next() {
            return self.delete_if_there(&MACHINE_CONFIGS, "", &name);
        }
        if flips.is_over() || self.view.get(&MACHINE_CONFIGS, "", &name).is_some() {
            return Ok(());
        }
        self.administer(&Write::create(&MACHINE_CONFIGS, machine_config(&name, flips.pool())))
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
