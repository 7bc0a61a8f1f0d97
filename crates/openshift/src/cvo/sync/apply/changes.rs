//! Changes that reach the apply loop while it runs: force, overrides, payload, ClusterOperators.

use windtunnel_core::View;
use windtunnel_core::clock::Time;

use super::{ApplyLoop, ApplyMode, existing_object};
use crate::cvo::payload::{Payload, TaskKind, namespaced_name};
use crate::cvo::sync::failure::Failure;
use crate::cvo::sync::operators::Watches;
use crate::cvo::sync::overrides::Overrides;

/// Changed settings that do not cancel the pass in progress.
#[derive(Debug, Clone)]
pub(super) struct SavedSettings {
    overrides: Overrides,
    /// The manifests, if the cluster includes other ones.
    payload: Option<Payload>,
}

impl ApplyLoop {
    /// Handles a ClusterOperator change that may let a failed pass succeed: ends the wait before the next
    /// pass. During a pass, it cancels the wait after that pass instead.
    pub(in crate::cvo) fn notify(&mut self, now: Time) {
        if self.mode == ApplyMode::Reconciling && self.saved.is_none() {
            return;
        }
        if self.pass.is_some() {
            self.notified = true;
        } else if self.errors > 0 || self.saved.is_some() {
            self.next_pass_at = now;
        }
    }

    /// Saves settings for the next pass, unless they are those that it would have anyway. `is_changed`
    /// reports a change that is not in these arguments.
    pub(in crate::cvo) fn save_settings(
        &mut self,
        overrides: Overrides,
        payload: Option<Payload>,
        is_changed: bool,
    ) {
        let known = self.saved.as_ref().map_or(&self.overrides, |saved| &saved.overrides);
        if is_changed || payload.is_some() || *known != overrides {
            self.saved = Some(SavedSettings { overrides, payload });
        }
    }

    /// Applies the saved settings at the start of a pass: it is an update again, because the work changed.
    pub(super) fn apply_saved_settings(&mut self, now: Time) {
        let Some(SavedSettings { overrides, payload }) = self.saved.take() else { return };
        self.overrides = overrides;
        if let Some(payload) = payload {
            self.reload(payload);
        }
        self.restart(now);
    }

    /// Cancels the pass and starts the next one at once in update mode, because the work changed without a
    /// new release (`SyncWork.calculateNextFrom`). A cluster that is being installed stays in initializing
    /// mode.
    pub(in crate::cvo) fn restart(&mut self, now: Time) {
        self.pass = None;
        self.saved = None;
        self.errors = 0;
        self.reconciles_next = false;
        if self.mode != ApplyMode::Initializing {
            self.mode = ApplyMode::Updating;
        }
        // The waits for ClusterOperators are measured from here.
        self.watches = Watches::default();
        self.next_pass_at = now;
    }

    /// Changes the force flag. This is new work, but the operator fetches no payload for it.
    pub(in crate::cvo) fn set_force(&mut self, force: bool, now: Time) {
        if self.work.force == force || self.mode == ApplyMode::Initializing {
            return;
        }
        self.work.force = force;
        let canceled = self.cancellation_failure();
        self.restart(now);
        // Like any other failure, this one is reported until the new pass makes progress.
        self.progress.failure = canceled.or(self.progress.failure.take());
    }

    /// The failure of the current pass if other work cancels it: its next manifest is reported as not
    /// updated.
    pub(in crate::cvo) fn cancellation_failure(&self) -> Option<Failure> {
        let pass = self.pass.as_ref()?;
        let task = self.payload.tasks.iter().find(|task| task.index > pass.done)?;
        Some(Failure::of_manifest(&task.name(), task.index, self.payload.total, "Canceled"))
    }

    /// Replaces the manifests. The count of completed passes stays.
    pub(in crate::cvo) fn reload(&mut self, payload: Payload) {
        self.end_waits();
        self.pass = None;
        self.progress.total = payload.total;
        self.settled = vec![None; payload.tasks.len()];
        self.deletions.clear();
        self.payload = payload;
    }

    /// Replaces the overrides. Returns whether they changed, or settings were saved for the next pass.
    pub(in crate::cvo) fn set_overrides(&mut self, overrides: Overrides) -> bool {
        let was_saved = self.saved.take().is_some();
        let changed = was_saved || self.overrides != overrides;
        self.overrides = overrides;
        changed
    }

    /// The deleted objects that still exist, as `Kind "namespace/name"`, sorted.
    pub(in crate::cvo) fn deletions(&self, view: &View) -> Vec<String> {
        let objects = self.deletions.iter().filter_map(|index| match &self.payload.tasks.get(*index)?.what {
            TaskKind::Object(wanted) => Some(wanted),
            _ => None,
        });
        let mut names: Vec<String> = objects
            .filter(|wanted| existing_object(wanted, view).is_some())
            .map(|wanted| {
                let kind = wanted.object["kind"].as_str().unwrap_or_default();
                format!("{kind} \"{}\"", namespaced_name(&wanted.object))
            })
            .collect();
        names.sort();
        names
    }
}
