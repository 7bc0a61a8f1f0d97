//! The steps of a node's update from one MachineConfig to another.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::Effect;
use windtunnel_controllers::faults::FaultKind;
use windtunnel_controllers::machine::Disk;
use windtunnel_controllers::recorder::Notice;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::MACHINE_CONFIGS;
use windtunnel_core::{Object, View};

use super::changes::Plan;
use super::failures::{Drift, OsFailure, PIVOT_ERRORS, REBOOT_ERRORS, fault};
use super::{DaemonOutput, MachineConfigDaemon, Phase, annotation, degrade, desired};
use crate::manifests::MajorMinor;
use crate::mco::annotations::{
    CONTROL_PLANE_TOPOLOGY, CURRENT_CONFIG, CURRENT_IMAGE, DESIRED_CONFIG, DESIRED_DRAIN, FIRST_PIVOT_CONFIG,
    LAST_APPLIED_DRAIN, POST_CONFIG_ACTION, REASON, STATE,
};
use crate::mco::config_node::{self, progress_steps};
use crate::mco::controller_line;
use crate::mco::pace::{Seconds, StepDurations};
use crate::mco::validity::{self, CHECKS_EXTENSIONS, check_extensions};

/// The interval of checks for a completed drain or uncordon request.
const POLL: SignedDuration = SignedDuration::from_secs(10);
/// The time limit of a drain.
const DRAIN_TIMEOUT: SignedDuration = SignedDuration::from_hours(1);
/// The time limit of an uncordon.
const UNCORDON_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// From this minor on nodes announce a reboot by an annotation.
const ANNOTATES_REBOOT: MajorMinor = (4, 15);

/// Seconds until the daemon notices a new desired MachineConfig.
const NOTICE: Seconds = (1, 2);

/// The next check of a request that was made at `since`.
pub(super) fn next_poll(since: Time, now: Time) -> Time {
    let polls = now.duration_since(since).as_secs().div_euclid(POLL.as_secs()) + 1;
    after(since, SignedDuration::from_secs(polls * POLL.as_secs()))
}

/// Returns whether a check of a request is due now.
fn polls_now(since: Time, now: Time) -> bool {
    let age = now.duration_since(since);
    !age.is_zero() && age.as_nanos() % POLL.as_nanos() == 0
}

/// A MachineConfig whose OS image is the custom one, if there is one.
fn with_image(config: &Object, custom_image: &str) -> Object {
    if custom_image.is_empty() {
        return config.clone();
    }
    let mut value = config.to_value();
    value["spec"]["osImageURL"] = json!(custom_image);
    Object::new(value)
}

/// Returns whether the operating system changes, and whether the SSH keys do.
fn changes(from: &Object, to: &Object) -> (bool, bool) {
    let differs = |pointer: &str| from.pointer(pointer) != to.pointer(pointer);
    (differs("/spec/osImageURL"), differs("/spec/config/passwd"))
}

/// The differences of two MachineConfigs as the daemon logs them.
fn difference(from: &Object, to: &Object) -> String {
    let differs = |pointer: &str| from.pointer(pointer) != to.pointer(pointer);
    let parts = [
        ("osUpdate", "/spec/osImageURL"),
        ("kargs", "/spec/kernelArguments"),
        ("fips", "/spec/fips"),
        ("passwd", "/spec/config/passwd"),
        ("files", "/spec/config/storage"),
        ("units", "/spec/config/systemd"),
        ("kernelType", "/spec/kernelType"),
        ("extensions", "/spec/extensions"),
    ];
    let parts: Vec<String> =
        parts.into_iter().map(|(name, pointer)| format!("{name}:{}", differs(pointer))).collect();
    format!("&{{{}}}", parts.join(" "))
}

/// Why the daemon cannot change the node: a fault, or a MachineConfig that only an installation can apply.
fn refusal(from: &Object, to: &Object, node: &Object, line: MajorMinor) -> Option<String> {
    let Some(fault) = fault(node, FaultKind::Unreconcilable) else {
        return validity::reconcilable(from, to, line).err();
    };
    let detail = fault.message_or("ignition disks section contains changes");
    Some(format!("configs {}, {} are not reconcilable: {detail}", from.name(), to.name()))
}

/// Publishes whether the operating system changed.
fn publish_os_change(is_new: bool, from: &Object, to: &Object, out: &mut DaemonOutput) {
    let (image, name) = (to.text("/spec/osImageURL"), to.name());
    if is_new {
        let text = format!("OS upgrade applied; new MachineConfig ({name}) has new OS image ({image})");
        out.publish("OSUpgradeApplied", text);
    } else {
        let text = format!(
            "OS upgrade skipped; new MachineConfig ({name}) has same OS image ({image}) as old MachineConfig ({})",
            from.name()
        );
        out.publish("OSUpgradeSkipped", text);
    }
}

/// Returns whether the daemon's last request was completed.
fn is_granted(node: &Object) -> bool {
    annotation(node, DESIRED_DRAIN) == annotation(node, LAST_APPLIED_DRAIN)
}

impl MachineConfigDaemon {
    /// Executes the current phase if it is due, without writing.
    pub(super) fn run_phase(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        match self.phase.clone() {
            Phase::Starting(at) if at <= now => self.start(node, now, out),
            Phase::Drifted(at) if at <= now => self.phase = Phase::Idle,
            Phase::Idle => self.check_idle_node(node, view, now, out),
            Phase::Preparing(at) if at <= now => self.prepare(node, view, now, out),
            Phase::RequestingDrain(at) if at <= now => self.request_drain(node, view, now, out),
            Phase::Draining(since) if polls_now(since, now) => {
                self.check_drain(since, node, view, now, out);
            }
            Phase::DrainFailed if is_granted(node) => self.apply(node, view, now, out),
            Phase::Applying(at) if at <= now => self.announce_reboot(node, view, now, out),
            Phase::Rebooting => self.reboot(node, view, now, out),
            Phase::Uncordoning(since) if polls_now(since, now) => {
                self.check_uncordon(since, node, now, out);
            }
            _ => {}
        }
    }

    /// Determines after a process start how far the node's update is.
    fn start(&mut self, node: &Object, now: Time, out: &mut DaemonOutput) {
        let (current, desired) = (annotation(node, CURRENT_CONFIG), desired(node));
        self.phase = Phase::Idle;
        out.journal(&format!("Starting to manage node: {}", self.node));
        if current == desired {
            out.info("daemon.go:1768", format!("Current+desired config: {current}"));
        } else {
            out.info("daemon.go:1774", format!("Current config: {current}"));
            out.info("daemon.go:1775", format!("Desired config: {desired}"));
        }
        if self.drift(node).is_some_and(|drift| drift.report("OnDiskStateValidationFailed", node, out)) {
            return;
        }
        if current.is_empty() {
            return self.initialize_annotations(now, out);
        }
        let was_done = self.reports_disk(node) && self.has_desired(node);
        if desired.is_empty() || was_done && !std::mem::take(&mut self.is_new) {
            return;
        }
        if self.has_desired(node) {
            self.take_target(node);
            if !was_done {
                // The node was rebooted into the desired MachineConfig.
                out.progress.extend([progress_steps::rebooted(), progress_steps::resumed(desired)]);
            }
            return self.request_uncordon(node, now, out);
        }
        let node = &self.node;
        out.publish(
            "BootResync",
            format!("Booting node {node}, currentConfig {current}, desiredConfig {desired}"),
        );
    }

    /// Initializes the annotations of a new node with the MachineConfig that the machine-config server gave
    /// its machine.
    fn initialize_annotations(&mut self, now: Time, out: &mut DaemonOutput) {
        for key in [CURRENT_CONFIG, DESIRED_CONFIG, FIRST_PIVOT_CONFIG] {
            out.annotate(key, &self.disk.config);
        }
        out.annotate(STATE, "Done");
        out.annotate(REASON, "");
        self.phase = Phase::Starting(now);
    }

    fn check_idle_node(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        let desired = desired(node);
        if desired.is_empty() {
            return;
        }
        let is_reported = |drift: &Drift| !drift.is_hidden || annotation(node, STATE) == "Degraded";
        if let Some(drift) = self.drift(node).filter(is_reported).filter(|_| self.has_desired(node)) {
            if annotation(node, STATE) == "Degraded" {
                drift.report("PreflightConfigDriftCheckFailed", node, out);
            } else {
                // The drift monitor reports its message first. The next check then reports the full error.
                out.notices.push(Notice::warning("ConfigDriftDetected", drift.detail.clone()));
                degrade(&drift.detail, node, out);
                crate::marks::MACHINE_DRIFTED.reach();
                self.phase = Phase::Drifted(now + self.draw("drift", NOTICE));
            }
        } else if !self.has_desired(node) {
            self.take_target(node);
            self.back_off.reset();
            self.phase = Phase::Preparing(now + self.draw("notice", NOTICE));
        } else if !self.reports_disk(node) || annotation(node, STATE) != "Done" {
            // The update needs no reboot, or the previous MachineConfig is desired again, or a failure was
            // fixed.
            self.take_target(node);
            if self.events_without_reboot.is_empty() {
                out.publish("SkipReboot", "Config changes do not require reboot.");
            }
            for (reason, message) in std::mem::take(&mut self.events_without_reboot) {
                out.publish(reason, message);
            }
            out.progress.push(progress_steps::resumed(desired));
            self.request_uncordon(node, now, out);
        } else if self.reports_again.is_none() && config_node::has_no_conditions(node.name(), view) {
            out.progress.push(progress_steps::resumed(desired));
            if annotation(node, LAST_APPLIED_DRAIN).starts_with("uncordon-") {
                out.progress.push(progress_steps::uncordoned());
            }
            out.progress.push(progress_steps::updated(node.name()));
        }
    }

    /// Checks whether it can apply the desired MachineConfig, which may have changed meanwhile.
    fn prepare(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        if self.has_desired(node) {
            self.phase = Phase::Idle;
            return;
        }
        self.take_target(node);
        if let Some(drift) = self.drift(node) {
            drift.report("PreflightConfigDriftCheckFailed", node, out);
            return self.fail(&drift.why, node, now, out);
        }
        let Some((from, to)) = self.configs(view, node, now, out) else { return };
        out.target = Some(self.target.clone());
        out.progress.push(progress_steps::needs_update(node.name()));
        let line = controller_line(view);
        if let Some(why) = refusal(&from, &to, node, line) {
            return self.report_unreconcilable(&why, &from, &to, node, now, out);
        }
        let plan = Plan::of(&from, &to, line, view);
        out.journal(&format!(
            "Starting update from {} to {}: {}",
            from.name(),
            to.name(),
            difference(&from, &to)
        ));
        out.progress.push(progress_steps::prepared(plan.drains()));
        if !matches!(annotation(node, STATE), "Degraded" | "Unreconcilable" | "Working") {
            out.annotate(STATE, "Working");
            out.publish("ConfigDriftMonitorStopped", "Config Drift Monitor stopped");
        }
        if !plan.drains() {
            let (os, keys) = changes(&from, &to);
            out.progress.extend([progress_steps::not_drained(), progress_steps::applying(os, keys)]);
            return self.finish_without_reboot(&from, &to, plan.events(line), out);
        }
        if from.text("/spec/osImageURL") != to.text("/spec/osImageURL") {
            out.publish(
                "InClusterUpgrade",
                format!("Updating from oscontainer {}", to.text("/spec/osImageURL")),
            );
        }
        out.publish("AddSigtermProtection", "Adding SIGTERM protection");
        self.phase = Phase::RequestingDrain(after(now, SignedDuration::from_secs(1)));
    }

    /// Writes the disk. The Events about the skipped reboot come after that.
    fn finish_without_reboot(
        &mut self,
        from: &Object,
        to: &Object,
        events: Vec<(&'static str, String)>,
        out: &mut DaemonOutput,
    ) {
        let (os, keys) = changes(from, to);
        out.progress.extend([progress_steps::applied(os, keys), progress_steps::not_rebooted()]);
        out.journal(&format!("Node has Desired Config {}, skipping reboot", self.target));
        self.events_without_reboot = events;
        self.disk.config.clone_from(&self.target);
        self.disk.custom_image.clone_from(&self.target_image);
        out.effects.push(Effect::WriteDisk(self.disk.clone()));
        self.phase = Phase::Idle;
    }

    /// The current and the target MachineConfig with their images. Fails if one of them does not exist.
    fn configs(
        &mut self,
        view: &View,
        node: &Object,
        now: Time,
        out: &mut DaemonOutput,
    ) -> Option<(Object, Object)> {
        let find = |name: &str| {
            let missing = || format!("machineconfig.machineconfiguration.openshift.io \"{name}\" not found");
            view.get(&MACHINE_CONFIGS, "", name).ok_or_else(missing)
        };
        match find(&self.disk.config).and_then(|from| Ok((from, find(&self.target)?))) {
            Ok((from, to)) => {
                Some((with_image(from, &self.disk.custom_image), with_image(to, &self.target_image)))
            }
            Err(why) => {
                self.fail(&why, node, now, out);
                None
            }
        }
    }

    fn request_drain(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        if annotation(node, CONTROL_PLANE_TOPOLOGY) == "SingleReplica" {
            out.publish("Drain", "Drain not required, skipping");
            out.journal("Drain not required, skipping");
            out.progress.push(progress_steps::not_drained());
            return self.apply(node, view, now, out);
        }
        let request = format!("drain-{}", self.target);
        if annotation(node, LAST_APPLIED_DRAIN) == request {
            // The node was drained for this target before the daemon was restarted or failed.
            out.progress.push(progress_steps::drained(&request));
            out.journal("drain is already completed on this node");
            return self.apply(node, view, now, out);
        }
        if annotation(node, DESIRED_DRAIN) != request {
            out.annotate(DESIRED_DRAIN, &request);
        }
        out.journal("Update prepared; requesting cordon and drain via annotation to controller");
        out.publish("Cordon", "Cordoned node to apply update");
        out.publish("Drain", "Draining node to update config.");
        self.phase = Phase::Draining(now);
    }

    fn check_drain(&mut self, since: Time, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        if is_granted(node) {
            out.journal("drain complete");
            let seconds = now.duration_since(since).as_secs();
            out.info("drain.go:125", format!("Successful drain took {seconds} seconds"));
            self.apply(node, view, now, out);
        } else if now.duration_since(since) >= DRAIN_TIMEOUT {
            let name = &self.node;
            let why = format!(
                "failed to drain node: {name} after 1 hour. Please see machine-config-controller logs for more information"
            );
            degrade(&why, node, out);
            out.notices.push(Notice::warning("FailedToDrain", why));
            crate::marks::DAEMON_WAITS_FOR_DRAIN.reach();
            self.phase = Phase::DrainFailed;
        }
    }

    fn apply(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        let Some((from, to)) = self.configs(view, node, now, out) else { return };
        if from.text("/spec/osImageURL") != to.text("/spec/osImageURL") {
            out.publish("OSUpdateStarted", format!("Upgrading OS to {}", to.text("/spec/osImageURL")));
        }
        let (os, keys) = changes(&from, &to);
        out.progress.push(progress_steps::applying(os, keys));
        (self.failed_tries, self.gave_up) = (0, None);
        let reboots = Plan::of(&from, &to, controller_line(view), view).reboots();
        // Without an operating system to write it takes as long as to notice the change.
        let takes = if reboots { StepDurations::of(view).apply } else { NOTICE };
        self.phase = Phase::Applying(now + self.draw("apply", takes));
    }

    fn announce_reboot(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        let Some((from, to)) = self.configs(view, node, now, out) else { return };
        let (os, keys) = changes(&from, &to);
        if let Some(why) = self.gave_up.take() {
            return self.fail_to_pivot(&why, node, now, out);
        }
        // An unchanged operating system is not pulled again.
        if let Some(failure) = OsFailure::of(node, view, to.text("/spec/osImageURL")).filter(|_| os) {
            let Some(pause) = failure.pauses.get(self.failed_tries) else {
                return self.fail_to_pivot(&failure.why, node, now, out);
            };
            self.failed_tries += 1;
            let is_last = self.failed_tries == failure.pauses.len();
            self.gave_up = (is_last && failure.ends_with_pause).then_some(failure.why);
            self.phase = Phase::Applying(after(now, *pause));
            return;
        }
        let line = controller_line(view);
        if line < CHECKS_EXTENSIONS
            && let Err(why) = check_extensions(&to["spec"], line)
        {
            return self.fail(&why, node, now, out);
        }
        let plan = Plan::of(&from, &to, line, view);
        if !plan.reboots() {
            self.finish_without_reboot(&from, &to, plan.events(line), out);
            // Nothing else wakes it after the drain.
            self.phase = Phase::Preparing(after(now, SignedDuration::from_secs(1)));
            return;
        }
        let through = progress_steps::succeeded(node.name());
        out.progress.extend([progress_steps::applied(os, keys), progress_steps::rebooting(), through]);
        publish_os_change(os, &from, &to, out);
        out.publish("OSUpdateStaged", "Changes to OS staged");
        out.publish("Reboot", format!("Node will reboot into config {}", self.target));
        out.journal("Rebooting node");
        out.journal(&format!("initiating reboot: Node will reboot into config {}", self.target));
        if controller_line(view) >= ANNOTATES_REBOOT {
            out.annotate(POST_CONFIG_ACTION, "Rebooting");
        }
        self.phase = Phase::Rebooting;
    }

    /// Reports and counts a failed change of the operating system.
    fn fail_to_pivot(&mut self, why: &str, node: &Object, now: Time, out: &mut DaemonOutput) {
        out.effects.push(self.count(PIVOT_ERRORS));
        self.fail(why, node, now, out);
    }

    fn reboot(&mut self, node: &Object, view: &View, now: Time, out: &mut DaemonOutput) {
        if let Some(fault) = fault(node, FaultKind::RebootRefused) {
            out.effects.push(self.count(REBOOT_ERRORS));
            let why = fault.message_or("reboot command failed, something is seriously wrong");
            return self.fail(why, node, now, out);
        }
        let target = view.get(&MACHINE_CONFIGS, "", &self.target);
        let os_image =
            target.map_or(self.disk.os_image.as_str(), |config| config.text("/spec/osImageURL")).to_owned();
        let disk = Disk { config: self.target.clone(), os_image, custom_image: self.target_image.clone() };
        let returns = fault(node, FaultKind::DoesNotReturn).is_none();
        let silence = returns.then(|| self.draw("silence", StepDurations::of(view).silence));
        out.effects.push(Effect::Reboot { disk, silence });
    }

    fn request_uncordon(&mut self, node: &Object, now: Time, out: &mut DaemonOutput) {
        if !annotation(node, POST_CONFIG_ACTION).is_empty() {
            out.annotate(POST_CONFIG_ACTION, "");
        }
        let was_drained = annotation(node, DESIRED_DRAIN).starts_with("drain-");
        let request = format!("uncordon-{}", self.target);
        let single = annotation(node, CONTROL_PLANE_TOPOLOGY) == "SingleReplica";
        if annotation(node, DESIRED_DRAIN) != request && (was_drained || !single) {
            out.annotate(DESIRED_DRAIN, &request);
        }
        self.phase = Phase::Uncordoning(now);
    }

    fn check_uncordon(&mut self, since: Time, node: &Object, now: Time, out: &mut DaemonOutput) {
        if is_granted(node) {
            let target = &self.target;
            let name = &self.node;
            out.publish("NodeDone", format!("Setting node {name}, currentConfig {target} to Done"));
            out.publish(
                "Uncordon",
                format!("Update completed for config {target} and node has been uncordoned"),
            );
            let watched = format!("Config Drift Monitor started, watching against {target}");
            out.publish("ConfigDriftMonitorStarted", watched);
            out.info("daemon.go:2300", format!("Completing update to target MachineConfig: {target}"));
            out.journal(&format!("Update completed for config {target} and node has been uncordoned"));
            out.info("daemon.go:2317", "state: Done".to_owned());
            out.info("daemon.go:2336", format!("In desired state MachineConfig: {target}"));
            out.annotate(CURRENT_CONFIG, target);
            if !self.target_image.is_empty() {
                out.annotate(CURRENT_IMAGE, &self.target_image);
            } else if node.annotation(CURRENT_IMAGE).is_some() {
                out.annotations.insert(CURRENT_IMAGE.to_owned(), Value::Null);
            }
            out.annotate(STATE, "Done");
            out.annotate(REASON, "");
            if matches!(annotation(node, STATE), "Degraded" | "Unreconcilable") {
                out.progress.push(progress_steps::succeeded(name));
            }
            out.progress.push(progress_steps::updated(name));
            self.phase = Phase::Idle;
        } else if now.duration_since(since) >= UNCORDON_TIMEOUT {
            let name = &self.node;
            let why = format!(
                "failed to uncordon node: {name} after 10 minutes. Please see machine-config-controller logs for more information"
            );
            degrade(&why, node, out);
            out.notices.push(Notice::warning("FailedToUncordon", why));
            self.phase = Phase::Uncordoning(now);
        }
    }
}
