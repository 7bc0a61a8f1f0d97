//! The part of the controller that updates boot images. It records in MachineConfiguration `cluster` the release
//! whose boot images it installed.

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, MACHINE_CONFIGURATIONS};
use windtunnel_core::{Identity, Key, Object, View, Write};

use super::super::annotations::RELEASE_VERSION;
use super::super::{CONTROLLER_CONFIG, controller_identity};
use super::configuration::plain;
use super::{is_in_use, key};

/// The messages about no machines at all.
const PROGRESS: &str = "Reconciled 0 of 0 MAPI MachineSets | Reconciled 0 of 0 ControlPlaneMachineSets | Reconciled 0 of 0 CAPI MachineSets | Reconciled 0 of 0 CAPI MachineDeployments";
const FAILURES: &str = "0 Degraded MAPI MachineSets | 0 Degraded ControlPlaneMachineSets | 0 Degraded CAPI MachineSets | 0 CAPI MachineDeployments";

/// The boot image controller, a part of the machine-config controller.
#[derive(Debug, Clone, Default)]
pub(in crate::mco) struct BootImageController {
    queue: WorkQueue,
    started: bool,
}

impl BootImageController {
    /// A controller that has not run yet.
    pub(in crate::mco) fn new() -> Self {
        Self::default()
    }
}

/// The status with the record of the controller's release.
pub(super) fn status(object: &Object, release: &Version, now: Time) -> Value {
    let mut status = object["status"].clone();
    let reason = "BootImageUpdateConfigurationAdded";
    let mut list = object.conditions().to_vec();
    // A failure that someone else reports stays, because nothing here can repair it.
    if list.is_empty() {
        for (kind, message) in
            [("BootImageUpdateProgressing", PROGRESS), ("BootImageUpdateDegraded", FAILURES)]
        {
            condition::set(&mut list, &Condition::new(kind, "False", reason, message), now);
        }
        status["conditions"] = Value::Array(list);
    }
    let skew = &mut status["bootImageSkewEnforcementStatus"];
    if skew["mode"] == "Automatic" {
        skew["automatic"] = json!({ "ocpVersion": plain(release) });
    }
    status
}

impl Reconcile for BootImageController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(object) = view.get_key(subject).filter(|_| is_in_use(view)) else { return Vec::new() };
        // The operator chooses the mode first.
        if object["status"]["bootImageSkewEnforcementStatus"].is_null() {
            return Vec::new();
        }
        let config = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG);
        let release = config.and_then(|config| Version::parse(config.annotation(RELEASE_VERSION)?).ok());
        let Some(status) = release.map(|release| status(object, &release, now)) else { return Vec::new() };
        if status == object["status"] {
            return Vec::new();
        }
        let mut value = object.to_value();
        value["status"] = status;
        vec![Write::update_status(&MACHINE_CONFIGURATIONS, value)]
    }
}

impl Actor for BootImageController {
    fn name(&self) -> &'static str {
        "machine-config-controller/boot-image"
    }

    fn identity(&self) -> Identity {
        controller_identity()
    }

    fn interests(&self) -> Vec<Interest> {
        [key(), CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG)].map(Interest::Object).into()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || !input.changes.is_empty() {
            self.queue.add(key());
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}
