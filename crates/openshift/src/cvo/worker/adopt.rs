//! How the worker adopts new work: its own release, an accepted payload, or changed settings.

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::FEATURE_GATES;
use windtunnel_core::{Object, View};

use super::Worker;
use crate::cvo::capabilities::Capabilities;
use crate::cvo::outbox::Outbox;
use crate::cvo::payload::Payload;
use crate::cvo::retrieve::OperatorContext;
use crate::cvo::retrieve::load::LoadResult;
use crate::cvo::sync::apply::{ApplyLoop, ApplyMode, Work};
use crate::cvo::sync::overrides::Overrides;
use crate::payload::Selection;
use crate::release::Release;

/// The settings in the ClusterVersion at the start of a retrieval. The worker sees later changes in its next run.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    /// The generation that the status reports.
    reported_generation: i64,
    overrides: Overrides,
    /// `spec.capabilities`.
    capabilities: Value,
}

impl Request {
    /// The request of a ClusterVersion whose status reports this generation.
    pub(super) fn of(cluster_version: &Object, reported_generation: i64) -> Self {
        let capabilities = cluster_version["spec"]["capabilities"].clone();
        Self { reported_generation, overrides: Overrides::of(cluster_version), capabilities }
    }
}

impl Worker {
    /// Adopts the first work of a process: the release of its own image. If the spec requests the same
    /// release with force, the second run of the worker restarts the work.
    pub(super) fn adopt_own(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let feature_set = selection(view, &self.own).feature_set;
        self.capabilities = Some(Capabilities::at_start(&self.own, &feature_set, cluster_version));
        self.adopt_own_release(cluster_version.generation(), false, cluster_version, view, now);
    }

    /// Applies `spec.capabilities`. Returns whether it enables any further capability.
    pub(super) fn enable_capabilities(&mut self, spec: &Value) -> bool {
        self.capabilities.as_mut().is_some_and(|capabilities| capabilities.update_spec(&self.own, spec))
    }

    /// Applies changed overrides, capabilities and feature gates to the current release by restarting its
    /// apply loop.
    pub(super) fn apply_settings(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let mut changed = self.enable_capabilities(&cluster_version["spec"]["capabilities"]);
        let Some(apply) = &mut self.apply else { return };
        changed |= apply.set_overrides(Overrides::of(cluster_version));
        let selection = selection(view, &apply.work.release);
        if selection != apply.payload.selection {
            apply.reload(Payload::load(&apply.work.release, selection));
            changed = true;
        }
        if changed {
            apply.restart(now);
        }
    }

    /// Keeps changed settings after a failed load. The apply loop is not notified: its current pass goes on with
    /// the earlier settings (the error path of `SyncWorker.Update`).
    fn save_settings(&mut self, view: &View) {
        let Request { overrides, capabilities, .. } = self.request.clone();
        let is_changed = self.enable_capabilities(&capabilities);
        let Some(apply) = &mut self.apply else { return };
        let selection = selection(view, &apply.work.release);
        let is_other = selection != apply.payload.selection;
        let payload = is_other.then(|| Payload::load(&apply.work.release, selection));
        apply.save_settings(overrides, payload, is_changed);
    }

    /// Adopts the operator's own release. This is a local payload: it is not verified and has no accepted
    /// risks.
    pub(super) fn adopt_own_release(
        &mut self,
        generation: i64,
        force: bool,
        cluster_version: &Object,
        view: &View,
        now: Time,
    ) {
        let release = self.own.clone();
        let payload = Payload::load(&release, selection(view, &release));
        let work = Work { release, generation, force, verified: false, accepted_risks: None };
        self.adopt(work, payload, Overrides::of(cluster_version), cluster_version, now);
    }

    /// Adopts an accepted payload in a new apply loop.
    fn adopt(
        &mut self,
        work: Work,
        payload: Payload,
        overrides: Overrides,
        cluster_version: &Object,
        now: Time,
    ) {
        self.load = LoadResult::loaded(&work.release, &self.own);
        let mode = mode(cluster_version, &work.release.image);
        let mut apply = ApplyLoop::new(work, mode, payload, self.pace.clone(), now);
        apply.failed_passes = self.apply.as_ref().map_or(0, |before| before.failed_passes);
        apply.set_overrides(overrides);
        self.apply = Some(apply);
    }

    /// Handles the end of a retrieval. The status reports the accepted payload before the apply loop reports
    /// its release.
    pub(super) fn retrieved(
        &mut self,
        accepted: Result<Work, LoadResult>,
        site: &OperatorContext,
        view: &View,
        cluster_version: &Object,
        now: Time,
        out: &mut Outbox,
    ) {
        // The retrieval may have taken minutes.
        self.evaluate_risks(site, view, cluster_version, now);
        match accepted {
            Err(load) => {
                self.load = load;
                // The status after a failed load has the generation from its start.
                if let Some(apply) = &mut self.apply {
                    apply.work.generation = self.request.reported_generation;
                }
                self.save_settings(view);
                self.write_status(site, cluster_version, now, out);
                self.queue.notify_progress(now);
            }
            Ok(work) => {
                self.updates.preflights().clear();
                self.load = LoadResult::loaded(&work.release, &self.own);
                let payload = Payload::load(&work.release, selection(view, &work.release));
                let Request { overrides, capabilities, .. } = self.request.clone();
                self.enable_capabilities(&capabilities);
                if let (Some(capabilities), Some(apply)) = (&mut self.capabilities, &self.apply) {
                    capabilities.enable_for(&apply.payload.capabilities(), &payload.capabilities());
                }
                self.write_status(site, cluster_version, now, out);
                self.adopt(work, payload, overrides, cluster_version, now);
                self.queue.trigger(now);
            }
        }
    }
}

/// The apply mode of a release, by the history.
fn mode(cluster_version: &Object, image: &str) -> ApplyMode {
    let history = cluster_version.list("/status/history");
    let is_completed = |entry: &Value| entry["state"] == "Completed";
    match history.first() {
        _ if !history.iter().any(is_completed) => ApplyMode::Initializing,
        Some(head) if is_completed(head) && head["image"] == image => ApplyMode::Reconciling,
        _ => ApplyMode::Updating,
    }
}

/// The manifests of a release that this cluster includes.
fn selection(view: &View, release: &Release) -> Selection {
    Selection::of(view.get(&FEATURE_GATES, "", "cluster").map(|object| &**object), &release.version)
}
