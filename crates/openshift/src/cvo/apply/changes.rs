//! What administrators and operators change while the loop runs.

use windtunnel_core::View;
use windtunnel_core::clock::Time;

use super::{ApplyLoop, Mode, found};
use crate::cvo::failure::Failure;
use crate::cvo::operators::Watches;
use crate::cvo::overrides::Overrides;
use crate::cvo::payload::{Payload, What, place_of};

impl ApplyLoop {
    /// A ClusterOperator changed in a way that may let a failed pass succeed: ends the wait before the next pass, also that
    /// which the pass under way may end with.
    pub(in crate::cvo) fn notify(&mut self, now: Time) {
        if self.mode == Mode::Reconciling {
            return;
        }
        if self.pass.is_some() {
            self.notified = true;
        } else if self.errors > 0 {
            self.next_pass_at = now;
        }
    }

    /// What is applied has changed without another release: the pass is broken off, and the next one begins at once, as one of
    /// an update (`SyncWork.calculateNextFrom`), unless the cluster is not installed yet.
    pub(in crate::cvo) fn restart(&mut self, now: Time) {
        self.pass = None;
        self.errors = 0;
        self.reconciles_next = false;
        if self.mode != Mode::Initializing {
            self.mode = Mode::Updating;
        }
        // Operators are waited for from now on.
        self.watches = Watches::default();
        self.next_pass_at = now;
    }

    /// The same release with or without force is other work, for which nothing has to be fetched.
    pub(in crate::cvo) fn set_force(&mut self, force: bool, now: Time) {
        if self.work.force == force || self.mode == Mode::Initializing {
            return;
        }
        self.work.force = force;
        let broken_off = self.broken_off();
        self.restart(now);
        // It shows until the new pass has something to tell, as what failed before does.
        self.progress.failure = broken_off.or(self.progress.failure.take());
    }

    /// What the pass that is under way says when it is broken off for other work: it could not do the manifest that it is at.
    pub(in crate::cvo) fn broken_off(&self) -> Option<Failure> {
        let pass = self.pass.as_ref()?;
        let task = self.payload.tasks.iter().find(|task| task.index > pass.done)?;
        Some(Failure::of_manifest(&task.name(), task.index, self.payload.total, "Canceled"))
    }

    /// The payload holds other manifests now; how often it was applied in full stays.
    pub(in crate::cvo) fn reload(&mut self, payload: Payload) {
        self.pass = None;
        self.progress.total = payload.total;
        self.settled = vec![None; payload.tasks.len()];
        self.deletions.clear();
        self.payload = payload;
    }

    /// Takes in what administrators took out of the operator's hands; true when that is something else than before.
    pub(in crate::cvo) fn set_overrides(&mut self, overrides: Overrides) -> bool {
        let changed = self.overrides != overrides;
        self.overrides = overrides;
        changed
    }

    /// What was asked to be removed and is still there, as `Kind "namespace/name"` in their order.
    pub(in crate::cvo) fn deletions(&self, view: &View) -> Vec<String> {
        let objects = self.deletions.iter().filter_map(|index| match &self.payload.tasks.get(*index)?.what {
            What::Object(wanted) => Some(wanted),
            _ => None,
        });
        let mut told: Vec<String> = objects
            .filter(|wanted| found(wanted, view).is_some())
            .map(|wanted| {
                let kind = wanted.object["kind"].as_str().unwrap_or_default();
                format!("{kind} \"{}\"", place_of(&wanted.object))
            })
            .collect();
        told.sort();
        told
    }
}
