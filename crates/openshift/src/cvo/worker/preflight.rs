//! Preflight checks: `spec.desiredUpdate.mode: Preflight` has the target release checked without starting an
//! update (enhancement `preflight-from-target-release`).
//!
//! The payload is retrieved as for an update. Then the preconditions of the target release run each time that
//! the worker does, and their failures become risks of the update. History, `Progressing` and
//! `ReleaseAccepted` stay unchanged. Results are removed when an update is accepted.

use semver::Version;
use windtunnel_core::clock::Time;
use windtunnel_core::{Object, View};

use super::{Worker, retrieving};
use crate::cvo::desired::Target;
use crate::cvo::events::Notice;
use crate::cvo::outbox::Outbox;
use crate::cvo::retrieve::accept::Loaded;
use crate::cvo::retrieve::load::LoadResult;
use crate::cvo::retrieve::{OperatorContext, Retrieval, preconditions};
use crate::cvo::updates::preflights::Outcome;
use crate::feature_gates::PREFLIGHT;
use crate::release::Release;

/// The state of the requested preflight check.
#[derive(Debug, Clone, Default)]
pub(super) struct PreflightCheck {
    /// The loaded release, by the pull spec of its request.
    loaded: Option<Release>,
    /// Whether the retrieval in progress is for a preflight check.
    is_retrieving: bool,
}

impl PreflightCheck {
    /// Returns whether the retrieval that ends now was for a preflight check.
    pub(super) fn take_retrieval(&mut self) -> bool {
        std::mem::take(&mut self.is_retrieving)
    }
}

/// Returns whether the spec requests a preflight check that this operator makes.
fn is_requested(own: &Release, cluster_version: &Object, view: &View) -> bool {
    cluster_version.text("/spec/desiredUpdate/mode") == "Preflight" && PREFLIGHT.is_enabled(own, view)
}

impl Worker {
    /// Returns whether the spec requests a preflight check instead of an update. Removes incomplete results if
    /// it requests none.
    pub(super) fn is_preflight(
        &mut self,
        cluster_version: &Object,
        target: &Target,
        view: &View,
        now: Time,
    ) -> bool {
        let requested = is_requested(&self.own, cluster_version, view);
        let version = target.version.parse().ok().filter(|_| requested);
        if self.updates.preflights().forget_incomplete(version.as_ref()) {
            self.queue.trigger(now);
        }
        if !requested {
            self.preflight.loaded = None;
        }
        requested
    }

    /// Continues the check of `target`: reports that it runs, retrieves the payload, or judges it again.
    pub(super) fn check_target(
        &mut self,
        target: Target,
        site: &OperatorContext,
        view: &View,
        cluster_version: &Object,
        now: Time,
        out: &mut Outbox,
    ) {
        let is_loaded = self.preflight.loaded.as_ref().is_some_and(|release| release.image == target.image);
        let version = target.version.parse::<Version>().ok();
        if is_loaded || target.image == self.own.image {
            self.judge_loaded(view, cluster_version, now);
        } else if let Some(version) = version.filter(|version| !self.updates.preflights().knows(version)) {
            self.updates.preflights().set(&version, &target.image, "", Outcome::Running);
            self.queue.trigger(now);
        } else {
            self.preflight.is_retrieving = true;
            self.events.publish(vec![retrieving(&target.version, &target.image)], now, out);
            self.retrieval = Some(Retrieval::new(target, site, view, now));
        }
    }

    /// Handles the end of a retrieval for a preflight check. Returns the Event about a failure.
    pub(super) fn preflight_retrieved(
        &mut self,
        target: &Target,
        loaded: Result<Loaded, LoadResult>,
        view: &View,
        cluster_version: &Object,
        now: Time,
    ) -> Option<Notice> {
        match loaded {
            Ok(Loaded { release, .. }) => {
                self.preflight.loaded = Some(release);
                self.judge_loaded(view, cluster_version, now);
                None
            }
            Err(load) => {
                let why = load.condition().map(|condition| condition.message).unwrap_or_default();
                if let Ok(version) = target.version.parse() {
                    self.updates.preflights().set(&version, &target.image, "", Outcome::Failed(why));
                }
                self.queue.notify_progress(now);
                load.notice()
            }
        }
    }

    /// Runs the preconditions of the loaded release.
    fn judge_loaded(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let Some(release) = &self.preflight.loaded else { return };
        let before = self.updates.preflights().clone();
        let found = Outcome::Checked(preconditions::preflight(view, cluster_version, release));
        self.updates.preflights().set(&release.version, &release.image, &release.url, found);
        if *self.updates.preflights() != before {
            self.queue.trigger(now);
        }
    }
}
