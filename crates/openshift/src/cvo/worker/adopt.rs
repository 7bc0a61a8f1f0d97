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

impl Worker {
    /// Adopts the first work of a process: the release of its own image. If the spec requests the same
    /// release with force, the second run of the worker restarts the work.
    pub(super) fn adopt_own(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let feature_set = selection(view, &self.own).feature_set;
        self.capabilities = Some(Capabilities::at_start(&self.own, &feature_set, cluster_version));
        self.adopt_own_release(cluster_version.generation(), false, cluster_version, view, now);
    }

    /// Applies changed overrides, capabilities and feature gates to the current release by restarting its
    /// apply loop.
    pub(super) fn apply_settings(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let Some(apply) = &mut self.apply else { return };
        let mut changed = apply.set_overrides(Overrides::of(cluster_version));
        if let Some(capabilities) = &mut self.capabilities {
            changed |= capabilities.update_spec(&self.own, &cluster_version["spec"]["capabilities"]);
        }
        let selection = selection(view, &apply.work.release);
        if selection != apply.payload.selection {
            apply.reload(Payload::load(&apply.work.release, selection));
            changed = true;
        }
        if changed {
            apply.restart(now);
        }
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
        self.adopt(work, payload, cluster_version, now);
    }

    /// Adopts an accepted payload in a new apply loop.
    fn adopt(&mut self, work: Work, payload: Payload, cluster_version: &Object, now: Time) {
        self.load = LoadResult::loaded(&work.release, &self.own);
        let mode = mode(cluster_version, &work.release.image);
        let mut apply = ApplyLoop::new(work, mode, payload, self.pace.clone(), now);
        apply.failed_passes = self.apply.as_ref().map_or(0, |before| before.failed_passes);
        apply.set_overrides(Overrides::of(cluster_version));
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
                    apply.work.generation = self.generation_at_load;
                }
                self.write_status(site, cluster_version, now, out);
                self.queue.notify_progress(now);
            }
            Ok(work) => {
                self.updates.preflights().clear();
                self.load = LoadResult::loaded(&work.release, &self.own);
                let payload = Payload::load(&work.release, selection(view, &work.release));
                if let (Some(capabilities), Some(apply)) = (&mut self.capabilities, &self.apply) {
                    capabilities.enable_for(&apply.payload.capabilities(), &payload.capabilities());
                }
                self.write_status(site, cluster_version, now, out);
                self.adopt(work, payload, cluster_version, now);
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
