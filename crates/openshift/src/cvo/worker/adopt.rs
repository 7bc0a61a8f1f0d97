//! What a worker takes up: its own release, a payload that was accepted, and how administrators want it applied.

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::FEATURE_GATES;
use windtunnel_core::{Object, View};

use super::Worker;
use crate::cvo::apply::{ApplyLoop, Mode, Work};
use crate::cvo::capabilities::Capabilities;
use crate::cvo::load::Load;
use crate::cvo::outbox::Outbox;
use crate::cvo::overrides::Overrides;
use crate::cvo::payload::Payload;
use crate::cvo::retrieve::Site;
use crate::payload::Selection;
use crate::release::Release;

impl Worker {
    /// The first work of a process: its own release, from its own image. Where spec asks for that by force, the second
    /// look at it begins it anew.
    pub(super) fn adopt_own(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let feature_set = selection(view, &self.own).feature_set;
        self.capabilities = Some(Capabilities::at_start(&self.own, &feature_set, cluster_version));
        self.take_up_own(cluster_version.generation(), false, cluster_version, view, now);
    }

    /// Takes in what administrators say of how the release at hand is applied: when that changes, the loop begins anew.
    pub(super) fn follow_settings(&mut self, view: &View, cluster_version: &Object, now: Time) {
        let Some(apply) = &mut self.apply else { return };
        let mut changed = apply.set_overrides(Overrides::of(cluster_version));
        if let Some(capabilities) = &mut self.capabilities {
            changed |= capabilities.ask(&self.own, &cluster_version["spec"]["capabilities"]);
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

    /// Makes the operator's own release the work: a local payload, which nobody verifies and no risk is taken for.
    pub(super) fn take_up_own(
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

    /// Makes an accepted payload the work of the apply loop.
    fn adopt(&mut self, work: Work, payload: Payload, cluster_version: &Object, now: Time) {
        self.load = Load::loaded(&work.release, &self.own);
        let mode = mode(cluster_version, &work.release.image);
        let mut apply = ApplyLoop::new(work, mode, payload, self.pace.clone(), now);
        apply.failed_passes = self.apply.as_ref().map_or(0, |before| before.failed_passes);
        apply.set_overrides(Overrides::of(cluster_version));
        self.apply = Some(apply);
    }

    /// A retrieval ended. That a payload was accepted is told before the apply loop reports its release.
    pub(super) fn retrieved(
        &mut self,
        accepted: Result<Work, Load>,
        site: &Site,
        view: &View,
        cluster_version: &Object,
        now: Time,
        out: &mut Outbox,
    ) {
        // It may have taken minutes.
        self.weigh_risks(site, view, cluster_version, now);
        match accepted {
            Err(load) => {
                self.load = load;
                // What is told of a load is put beside what was known when it began.
                if let Some(apply) = &mut self.apply {
                    apply.work.generation = self.seen_at_load;
                }
                self.write_status(site, cluster_version, now, out);
                self.queue.news(now);
            }
            Ok(work) => {
                self.load = Load::loaded(&work.release, &self.own);
                let payload = Payload::load(&work.release, selection(view, &work.release));
                if let (Some(capabilities), Some(apply)) = (&mut self.capabilities, &self.apply) {
                    capabilities.enable_for(&apply.payload, &payload);
                }
                self.write_status(site, cluster_version, now, out);
                self.adopt(work, payload, cluster_version, now);
                self.queue.trigger(now);
            }
        }
    }
}

/// In which frame of mind a release is applied, as history tells.
fn mode(cluster_version: &Object, image: &str) -> Mode {
    let history = cluster_version.list("/status/history");
    let is_completed = |entry: &Value| entry["state"] == "Completed";
    match history.first() {
        _ if !history.iter().any(is_completed) => Mode::Initializing,
        Some(head) if is_completed(head) && head["image"] == image => Mode::Reconciling,
        _ => Mode::Updating,
    }
}

/// Which manifests of a release this cluster takes.
fn selection(view: &View, release: &Release) -> Selection {
    Selection::of(view.get(&FEATURE_GATES, "", "cluster").map(|object| &**object), &release.version)
}
