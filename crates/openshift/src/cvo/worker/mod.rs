//! The ClusterVersion worker: reads the spec, gets the requested payload accepted, and writes the status. It
//! is the only writer of that status, and it does nothing else while it retrieves a payload.

mod adopt;
mod preflight;
#[cfg(test)]
mod tests;

use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::CLUSTER_VERSIONS;
use windtunnel_core::text::go_duration;
use windtunnel_core::{Answer, Object, Operation, View, Write};

use self::adopt::Request;
use self::preflight::PreflightCheck;
use super::agentic::AgenticRuns;
use super::behaviour::UpgradeableStyle;
use super::capabilities::Capabilities;
use super::desired;
use super::events::{Events, Notice};
use super::outbox::{Outbox, Purpose};
use super::queue::Queue;
use super::retrieve::accept::{accept, load};
use super::retrieve::load::LoadResult;
use super::retrieve::{OperatorContext, Retrieval};
use super::status::{self, Report};
use super::sync::apply::{ApplyLoop, ApplyMode, PassPace};
use super::updates::{self, Updates};
use super::upgradeable::Upgradeable;
use crate::manifests::is_preview;
use crate::marks;
use crate::release::Release;

/// The only key of the work queue.
const KEY: &str = "openshift-cluster-version/version";

/// The worker, with the result of the last load and the apply loop.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    own: Release,
    pace: PassPace,
    pub(super) queue: Queue,
    pub(super) apply: Option<ApplyLoop>,
    retrieval: Option<Retrieval>,
    load: LoadResult,
    /// The request for which the retrieval started.
    request: Request,
    capabilities: Option<Capabilities>,
    pub(super) upgradeable: Upgradeable,
    events: Events,
    updates: Updates,
    agentic_runs: AgenticRuns,
    preflight: PreflightCheck,
    invalid: Vec<String>,
    /// Whether the current status update has already failed with a conflict once.
    conflicted: bool,
    /// The error of the last failed status update.
    last_error: String,
    /// When the current sync started.
    sync_started: Option<Time>,
}

impl Worker {
    /// A worker of the operator of release `own`.
    pub(super) fn new(own: Release, pace: PassPace, now: Time) -> Self {
        let interval = pace.interval;
        Self {
            own,
            pace,
            queue: Queue::new(interval, now),
            apply: None,
            retrieval: None,
            load: LoadResult::Untried,
            request: Request::default(),
            capabilities: None,
            upgradeable: Upgradeable::default(),
            events: Events::default(),
            updates: Updates::new(interval),
            agentic_runs: AgenticRuns::default(),
            preflight: PreflightCheck::default(),
            invalid: Vec::new(),
            conflicted: false,
            last_error: String::new(),
            sync_started: None,
        }
    }

    /// The operator's own release.
    pub(super) fn own_release(&self) -> &Release {
        &self.own
    }

    /// The version of the operator's own release.
    pub(super) fn version(&self) -> &semver::Version {
        &self.own.version
    }

    /// The time at which the worker continues.
    pub(super) fn wake_at(&self) -> Time {
        let queue = if self.retrieval.is_some() { None } else { Some(self.queue.wake_at()) };
        let retrieval = self.retrieval.as_ref().and_then(Retrieval::wake_at);
        let apply = self.apply.as_ref().and_then(ApplyLoop::wake_at);
        [queue, retrieval, apply, self.updates.wake_at()]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or_else(|| self.queue.wake_at())
    }

    /// A short description of its current activity.
    pub(super) fn why(&self) -> String {
        if let Some(retrieval) = &self.retrieval {
            return format!("retrieving {}", retrieval.target.image);
        }
        let Some(apply) = &self.apply else { return "starting".to_owned() };
        match (&apply.progress.failure, apply.mode) {
            (Some(failure), _) => failure.message.clone(),
            (None, ApplyMode::Initializing) => format!("installing {}", apply.work.release.version),
            (None, ApplyMode::Updating) => format!("applying {}", apply.work.release.version),
            (None, ApplyMode::Reconciling) => String::new(),
        }
    }

    /// Runs as far as possible now. Without a ClusterVersion there is no request, but the apply loop
    /// continues.
    pub(super) fn run(
        &mut self,
        site: &mut OperatorContext,
        view: &View,
        alerts: &[ActiveAlert],
        now: Time,
        out: &mut Outbox,
    ) {
        if let Some(cluster_version) = view.cluster_version() {
            // The available-updates loop runs in parallel. The worker reports its results when it is free.
            let last = self.updates.last_request().map(|(at, channel)| (at, channel.to_owned()));
            if self.updates.run(&site.environment, view, alerts, cluster_version, &self.own, now) {
                self.queue.trigger(now);
            }
            self.log_update_request(last, now, out);
            self.agentic_runs.update(&self.updates, &self.own, view, now, out);
            self.advance(site, view, cluster_version, now, out);
            self.log_end_of_sync(now, out);
        } else {
            self.retrieval = None;
            self.queue.take(now);
            self.updates = Updates::new(self.pace.interval);
        }
        if let (Some(apply), Some(capabilities)) = (&mut self.apply, &self.capabilities) {
            let before = (apply.mode, apply.progress.failure.is_some());
            if apply.run(view, capabilities, now, out) {
                if before == (apply.mode, apply.progress.failure.is_some()) {
                    self.queue.notify_progress(now);
                } else {
                    self.queue.trigger(now);
                }
            }
        }
    }

    fn advance(
        &mut self,
        site: &mut OperatorContext,
        view: &View,
        cluster_version: &Object,
        now: Time,
        out: &mut Outbox,
    ) {
        if let Some(retrieval) = &mut self.retrieval {
            if let Some(outcome) = retrieval.run(site, view, now, out) {
                let target = retrieval.target.clone();
                self.retrieval = None;
                let wanted = cluster_version.text("/spec/desiredUpdate/version");
                marks::RETARGETED_IN_RETRIEVAL.reach_if(wanted != target.version);
                if let Ok(retrieved) = &outcome
                    && !retrieved.risk.is_empty()
                {
                    out.warning(now, "updatepayload.go:141", &retrieved.risk);
                }
                let mut notices = Vec::new();
                if self.preflight.take_retrieval() {
                    let loaded = load(&target, outcome, site, &mut notices);
                    notices.extend(self.preflight_retrieved(&target, loaded, view, cluster_version, now));
                    return self.events.publish(notices, now, out);
                }
                let accepted = accept(&target, outcome, site, view, cluster_version, &mut notices);
                let load = accepted
                    .as_ref()
                    .map_or_else(LoadResult::clone, |work| LoadResult::loaded(&work.release, &self.own));
                notices.extend(load.notice());
                if let LoadResult::Failed { message, .. } = &load {
                    let is_updating =
                        self.apply.as_ref().is_some_and(|apply| apply.mode == ApplyMode::Updating);
                    marks::REFUSED_IN_UPDATE.reach_if(is_updating);
                    let error = format_args!("loadUpdatedPayload syncPayload err={message}");
                    out.info(now, "sync_worker.go:482", error);
                }
                self.events.publish(notices, now, out);
                self.retrieved(accepted, site, view, cluster_version, now, out);
            }
        } else if !out.awaits(Purpose::Status) && self.queue.take(now) {
            self.sync(site, view, cluster_version, now, out);
        }
    }

    /// Prints that updates were requested, if they were since the request `last`, and why.
    fn log_update_request(&self, last: Option<(Time, String)>, now: Time, out: &mut Outbox) {
        let Some((at, channel)) = self.updates.last_request() else { return };
        if last.as_ref().is_some_and(|(last, _)| *last == at) {
            return;
        }
        out.info(now, "cvo.go:891", format_args!("Started syncing available updates \"{KEY}\""));
        let again = "Retrieving available updates again, because";
        match last {
            None => out.info(now, "availableupdates.go:71", "First attempt to retrieve available updates"),
            Some((_, before)) if before != channel => out.info(
                now,
                "availableupdates.go:80",
                format_args!("{again} the channel has changed from \"{before}\" to \"{channel}\""),
            ),
            Some((last, _)) => {
                let interval = go_duration(self.pace.interval);
                let last = windtunnel_core::clock::rfc3339(last);
                let why =
                    format_args!("{again} more than {interval} has elapsed since last attempt at {last}");
                out.info(now, "availableupdates.go:86", why);
            }
        }
        out.info(now, "cvo.go:893", format_args!("Finished syncing available updates \"{KEY}\" (0s)"));
    }

    /// Prints the end of a sync, with its duration, unless it still retrieves a payload or writes its status.
    fn log_end_of_sync(&mut self, now: Time, out: &mut Outbox) {
        if self.retrieval.is_some() || out.awaits(Purpose::Status) {
            return;
        }
        if let Some(started) = self.sync_started.take() {
            let duration = go_duration(now.duration_since(started));
            out.info(
                now,
                "cvo.go:817",
                format_args!("Finished syncing cluster version \"{KEY}\" ({duration})"),
            );
        }
    }

    /// Handles the answer to the creation of the retrieval's Pod or Job.
    pub(super) fn retrieval_created(&mut self, answer: &Answer, now: Time) {
        if let Some(retrieval) = &mut self.retrieval {
            retrieval.created(answer, now);
        }
    }

    /// Handles the answer to a deletion of an earlier retrieval's Pod or Job.
    pub(super) fn pruned(&mut self, site: &OperatorContext, answer: &Answer) {
        if let Some(retrieval) = &mut self.retrieval {
            retrieval.pruned(site.behaviour.retrieval, answer);
        }
    }

    /// Handles the answer to a status update. After a conflict it retries once with the current object. After
    /// too many failures it writes the error itself.
    pub(super) fn status_answered(
        &mut self,
        site: &OperatorContext,
        answer: &Answer,
        view: &View,
        now: Time,
        out: &mut Outbox,
    ) {
        let Err(rejection) = &answer.outcome else {
            self.conflicted = false;
            return self.queue.succeeded();
        };
        let found = view.cluster_version();
        let mut error = rejection.message.as_str();
        if rejection.code == 409
            && !self.conflicted
            && let Some(cluster_version) = found
        {
            if is_about(&answer.write, cluster_version) {
                marks::STATUS_CONFLICT.reach();
                self.write_status(site, cluster_version, now, out);
                self.conflicted = out.awaits(Purpose::Status);
                return;
            }
            marks::VERSION_RECREATED.reach();
            error = "cluster version was deleted and recreated, cannot update status";
        }
        self.conflicted = false;
        self.log_end_of_sync(now, out);
        let drops = self.queue.failed(now);
        if marks::STATUS_GIVEN_UP.reach_if(drops) {
            error.clone_into(&mut self.last_error);
        } else {
            out.info(now, "cvo.go:794", format_args!("Error handling {KEY}: {error}"));
        }
        if drops && let Some(cluster_version) = found {
            let object = status::write_failing(cluster_version, &self.own, error, now);
            out.push(Purpose::FailingStatus, Write::update_status(&CLUSTER_VERSIONS, object));
        }
    }

    /// Handles the answer to the status update after too many failed ones. If it fails as well, its error is the
    /// one in the log.
    pub(super) fn failing_status_answered(&mut self, answer: &Answer, now: Time, out: &mut Outbox) {
        let last = std::mem::take(&mut self.last_error);
        let error = answer.outcome.as_ref().err().map_or(last, |rejection| rejection.message.clone());
        let [queue, limiter] = self.queue_addresses();
        let dropped =
            format_args!("Dropping \"{KEY}\" out of the queue &{{{queue:#x} {limiter:#x}}}: {error}");
        out.info(now, "cvo.go:801", dropped);
    }

    /// The addresses of the parts of its work queue, which the operator prints instead of the queue's name.
    fn queue_addresses(&self) -> [u64; 2] {
        let mut draws = self.pace.orders.stream(&format!("work-queue/{}", self.own.version));
        [(); 2].map(|()| 0xc0_0000_0000 + 32 * draws.between(1 << 12, 1 << 20))
    }

    /// Shuts down: cancels a retrieval and writes a last status for the current spec.
    pub(super) fn shut_down(&mut self, site: &OperatorContext, view: &View, now: Time, out: &mut Outbox) {
        marks::STOPPED_IN_RETRIEVAL.reach_if(self.retrieval.is_some());
        let is_updating = self.apply.as_ref().is_some_and(|apply| apply.mode == ApplyMode::Updating);
        marks::STOPPED_IN_UPDATE.reach_if(is_updating);
        self.retrieval = None;
        if let Some(cluster_version) = view.cluster_version() {
            let can_accept = updates::can_accept(&self.own, view);
            (_, self.invalid) = desired::requested_target(cluster_version, &self.own, can_accept);
            self.evaluate_risks(site, view, cluster_version, now);
            self.write_status(site, cluster_version, now, out);
        }
        self.apply = None;
    }

    fn sync(
        &mut self,
        site: &OperatorContext,
        view: &View,
        cluster_version: &Object,
        now: Time,
        out: &mut Outbox,
    ) {
        out.info(
            now,
            "cvo.go:815",
            format_args!("Started syncing cluster version \"{KEY}\", spec changes, status, and payload"),
        );
        self.sync_started = Some(now);
        self.update_upgradeable(site, view, cluster_version, now);
        // The first status of a process reports an invalid spec like all others.
        let can_accept = updates::can_accept(&self.own, view);
        let (target, invalid) = desired::requested_target(cluster_version, &self.own, can_accept);
        self.invalid = invalid;
        if self.apply.is_none() {
            self.publish_own_load(now, out);
            self.adopt_own(view, cluster_version, now);
            self.queue.trigger(now);
            return self.write_status(site, cluster_version, now, out);
        }
        let Some(apply) = &mut self.apply else { return };
        apply.latest_generation = cluster_version.generation();
        // During the installation no other payload is retrieved.
        let is_initializing = apply.mode == ApplyMode::Initializing;
        let is_preflight = !is_initializing && self.is_preflight(cluster_version, &target, view, now);
        let Some(apply) = &mut self.apply else { return };
        let accepted = apply.work.release.image == target.image || is_initializing || is_preflight;
        if accepted {
            self.apply_settings(view, cluster_version, now);
            let Some(apply) = &mut self.apply else { return };
            if matches!(self.load, LoadResult::Failed { .. }) {
                self.load = LoadResult::returned(&apply.work.release);
            }
            if apply.work.release.image == target.image {
                apply.set_force(target.force, now);
            }
        } else if target.image == self.own.image {
            marks::BACK_TO_OWN_RELEASE.reach();
            let canceled = apply.cancellation_failure();
            self.enable_capabilities(&cluster_version["spec"]["capabilities"]);
            self.publish_own_load(now, out);
            self.adopt_own_release(target.generation, target.force, cluster_version, view, now);
            if let Some(apply) = &mut self.apply {
                // The failure is reported until the new pass makes progress.
                apply.progress.failure = canceled;
            }
        } else {
            self.request = Request::of(cluster_version, apply.work.generation);
            let name = if target.version.is_empty() { &target.image } else { &target.version };
            out.info(now, "sync_worker.go:297", format_args!("syncPayload: {name} (force={})", target.force));
            let why = "Loading payload due to desired image not being equal to the current one.";
            out.info(now, "sync_worker.go:306", why);
            self.events.publish(vec![retrieving(&target.version, &target.image)], now, out);
            let version: Option<semver::Version> = target.version.parse().ok();
            let is_older = |version: semver::Version| {
                (version.major, version.minor) < (self.own.version.major, self.own.version.minor)
            };
            marks::BACK_TO_OLDER_MINOR.reach_if(version.is_some_and(is_older));
            self.retrieval = Some(Retrieval::new(target, site, view, now));
            return;
        }
        self.write_status(site, cluster_version, now, out);
        if is_preflight {
            self.check_target(target, site, view, cluster_version, now, out);
        }
    }

    /// Updates the Upgradeable checks.
    fn update_upgradeable(
        &mut self,
        site: &OperatorContext,
        view: &View,
        cluster_version: &Object,
        now: Time,
    ) {
        let deletions = self.apply.as_ref().map(|apply| apply.deletions(view)).unwrap_or_default();
        self.upgradeable.run_checks(site.behaviour, cluster_version, &deletions, view, now);
        self.updates.set_deletions(deletions);
    }

    /// Updates Upgradeable for a status outside the queue: risks are evaluated for each status, checks only
    /// when due.
    fn evaluate_risks(&mut self, site: &OperatorContext, view: &View, cluster_version: &Object, now: Time) {
        if site.behaviour.upgradeable == UpgradeableStyle::Risks {
            self.update_upgradeable(site, view, cluster_version, now);
        }
    }

    /// Publishes that the payload in the operator's own image is loaded, which cannot fail.
    fn publish_own_load(&mut self, now: Time, out: &mut Outbox) {
        let (version, image) = (self.own.version.to_string(), &self.own.image);
        let loading = format!("Loading payload version=\"{version}\" image=\"{image}\"");
        let mut notices = vec![retrieving(&version, image), Notice::normal("LoadPayload", loading)];
        notices.extend(LoadResult::loaded(&self.own, &self.own).notice());
        self.events.publish(notices, now, out);
    }

    /// Writes the status if it has changed.
    fn write_status(
        &mut self,
        site: &OperatorContext,
        cluster_version: &Object,
        now: Time,
        out: &mut Outbox,
    ) {
        let (Some(apply), Some(capabilities)) = (&self.apply, &self.capabilities) else { return };
        let report = Report {
            apply,
            own_image: &self.own.image,
            load: &self.load,
            capabilities,
            behaviour: site.behaviour,
            upgradeable: &self.upgradeable,
            updates: &self.updates,
            previews: is_preview(&apply.payload.selection.feature_set),
            invalid: &self.invalid,
        };
        match status::updated_object(cluster_version, &report, now) {
            None => self.queue.succeeded(),
            Some(object) => out.push(Purpose::Status, Write::update_status(&CLUSTER_VERSIONS, object)),
        }
    }
}

/// Returns whether a write was for this object and not for another one with its name.
fn is_about(write: &Write, object: &Object) -> bool {
    matches!(&write.operation, Operation::Update(written) if written["metadata"]["uid"] == object.uid())
}

fn retrieving(version: &str, image: &str) -> Notice {
    let message = format!("Retrieving and verifying payload version=\"{version}\" image=\"{image}\"");
    Notice::normal("RetrievePayload", message)
}
