//! Certificates in the ControllerConfig, which the daemon writes to the disk without a MachineConfig update.

use windtunnel_core::resources::CONTROLLER_CONFIGS;
use windtunnel_core::{Object, View};

use super::{DaemonOutput, MachineConfigDaemon, Phase};
use crate::manifests::MajorMinor;
use crate::mco::annotations::LAST_SYNCED_CONTROLLER_CONFIG;
use crate::mco::{CONTROLLER_CONFIG, controller_line};

/// From this minor on certificates are not part of MachineConfigs.
const WRITES_CERTIFICATES: MajorMinor = (4, 14);

impl MachineConfigDaemon {
    /// Reports the ControllerConfig whose certificates are on the disk, in any phase of an update
    /// (`syncControllerConfigHandler`).
    pub(super) fn sync_certificates(&self, node: &Object, view: &View, out: &mut DaemonOutput) {
        let runs = !matches!(self.phase, Phase::Starting(_) | Phase::Rebooting);
        let controller = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG);
        let Some(version) = controller.map(Object::resource_version).filter(|_| runs) else { return };
        let is_known = node.annotation(LAST_SYNCED_CONTROLLER_CONFIG) == Some(version);
        if !is_known && controller_line(view) >= WRITES_CERTIFICATES {
            out.annotate(LAST_SYNCED_CONTROLLER_CONFIG, version);
        }
    }
}
