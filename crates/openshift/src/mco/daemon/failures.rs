//! Failures of the daemon from fault objects: a drifted disk, a failed OS update, and an unreconcilable
//! change.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_controllers::Effect;
use windtunnel_controllers::counter::Counter;
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::recorder::Notice;
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, View};

use super::{DaemonOutput, MachineConfigDaemon, Phase, annotation, degrade, truncate_reason};
use crate::manifests::MajorMinor;
use crate::mco::annotations::{REASON, STATE};
use crate::mco::config_node::progress_steps;
use crate::mco::controller_line;

/// The pauses between six attempts to pull an image.
const PULLS: &[SignedDuration] = &[
    SignedDuration::from_secs(5),
    SignedDuration::from_secs(10),
    SignedDuration::from_secs(20),
    SignedDuration::from_secs(40),
    SignedDuration::from_secs(80),
];
/// The pauses between five attempts to change the operating system.
const REBASES_UNCAPPED: &[SignedDuration] = &[
    SignedDuration::from_secs(10),
    SignedDuration::from_secs(20),
    SignedDuration::from_secs(40),
    SignedDuration::from_secs(80),
];
/// The pauses between attempts with a cap of one minute. A pause over the cap ends the retries
/// (`wait.Backoff.Cap`), so of seven configured attempts only these are made, and the last pause is not
/// followed by an attempt.
const REBASES: &[SignedDuration] =
    &[SignedDuration::from_secs(10), SignedDuration::from_secs(20), SignedDuration::from_secs(40)];

/// From this minor on a failed OS update has a lower-case message and other retries.
const LOWER_CASE: MajorMinor = (4, 22);

/// The metric of failed changes of the operating system.
pub(crate) const PIVOT_ERRORS: &str = "mcd_pivot_errors_total";
/// The metric of failed reboots.
pub(crate) const REBOOT_ERRORS: &str = "mcd_reboots_failed_total";

/// The fault of the node, if it has this kind.
pub(super) fn fault(node: &Object, kind: FaultKind) -> Option<Fault> {
    Fault::from_annotations(node).flatten().filter(|fault| fault.kind == kind)
}

/// A failed update of the operating system.
pub(super) struct OsFailure {
    /// The error after all attempts.
    pub(super) why: String,
    /// The pauses before each retry.
    pub(super) pauses: &'static [SignedDuration],
    /// Whether the last pause is not followed by an attempt.
    pub(super) ends_with_pause: bool,
}

impl OsFailure {
    /// The fault that prevents the update to the OS image `url`, if there is one.
    pub(super) fn of(node: &Object, view: &View, url: &str) -> Option<Self> {
        if let Some(fault) = fault(node, FaultKind::ImagePullFails) {
            let why = fault.message_or("Error: pinging container registry: connection refused");
            let why = format!(
                "failed to run command nice (6 tries): [timed out waiting for the condition, running nice -- ionice -c 3 \
                 podman pull -q --authfile /var/lib/kubelet/config.json {url} failed: {why}: exit status 125]"
            );
            return Some(Self { why, pauses: PULLS, ends_with_pause: false });
        }
        let fault = fault(node, FaultKind::OsUpdateFails)?;
        let is_new = controller_line(view) >= LOWER_CASE;
        let (failed, pauses) = if is_new { ("failed", REBASES) } else { ("Failed", REBASES_UNCAPPED) };
        let why = fault.message_or("error running rpm-ostree rebase: exit status 1");
        let why = format!(
            "{failed} to update OS to {url} after retries: {why}: timed out waiting for the condition"
        );
        Some(Self { why, pauses, ends_with_pause: is_new })
    }
}

/// A machine that differs from its MachineConfig.
pub(super) struct Drift {
    pub(super) detail: String,
    /// The error message with this difference.
    pub(super) why: String,
    /// Whether the drift monitor missed the change.
    pub(super) is_hidden: bool,
}

impl Drift {
    /// Degrades the node, with an Event if the disk differs and this was not reported before. Returns whether
    /// the disk differs.
    pub(super) fn report(&self, event: &'static str, node: &Object, out: &mut DaemonOutput) -> bool {
        let is_of_disk = self.why != self.detail;
        if is_of_disk && annotation(node, REASON) != truncate_reason(&self.why) {
            out.notices.push(Notice::warning(event, self.why.clone()));
        }
        degrade(&self.why, node, out);
        is_of_disk
    }
}

impl MachineConfigDaemon {
    /// Increments the error count of a metric.
    pub(super) fn count(&mut self, metric: &'static str) -> Effect {
        let count = self.errors.entry(metric).or_default();
        *count += 1;
        let count = *count;
        self.counted(metric, count)
    }

    pub(super) fn counted(&self, metric: &'static str, count: u64) -> Effect {
        let labels = BTreeMap::from([("node".to_owned(), self.node.clone())]);
        Effect::Count(Counter { by: self.name.clone(), metric, labels, count })
    }

    /// Resets the error counts for a new process.
    pub(super) fn reset_errors(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.errors).into_keys().map(|metric| self.counted(metric, 0)).collect()
    }

    /// The difference on the disk, or another fault that degrades the node.
    pub(super) fn drift(&self, node: &Object) -> Option<Drift> {
        if let Some(fault) = fault(node, FaultKind::Degraded) {
            let why = fault.message_or("the daemon fails because of an injected fault").to_owned();
            return Some(Drift { detail: why.clone(), why, is_hidden: false });
        }
        let hidden = fault(node, FaultKind::HiddenMismatch);
        let is_hidden = hidden.is_some();
        let fault = hidden.or_else(|| fault(node, FaultKind::OnDiskMismatch))?;
        let detail = fault.message_or("content mismatch for file \"/etc/kubernetes/kubelet.conf\"");
        let why = format!("unexpected on-disk state validating against {}: {detail}", self.disk.config);
        Some(Drift { detail: detail.to_owned(), why, is_hidden })
    }

    /// Reports that the change between two MachineConfigs is not reconcilable.
    pub(super) fn report_unreconcilable(
        &mut self,
        why: &str,
        from: &Object,
        to: &Object,
        node: &Object,
        now: Time,
        out: &mut DaemonOutput,
    ) {
        let (from, to) = (from.name(), to.name());
        let why = format!("can't reconcile config {from} with {to}: {why}");
        if annotation(node, STATE) != "Unreconcilable" || annotation(node, REASON) != truncate_reason(&why) {
            out.notices.push(Notice::warning("FailedToReconcile", why.clone()));
            out.annotate(STATE, "Unreconcilable");
            out.annotate(REASON, truncate_reason(&why));
            out.progress.push(progress_steps::degraded(node.name(), &why));
        }
        self.phase = Phase::Preparing(now + self.back_off.fail());
    }
}
