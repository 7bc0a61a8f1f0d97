//! The apply loop: repeats passes over the payload until one succeeds, then runs one per reconcile interval.

mod changes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, JOBS};
use windtunnel_core::rng::{Stream, Streams};
use windtunnel_core::{Answer, Object, Operation, View, Write};

use self::changes::SavedSettings;
use super::failure::{self, FailingEffect, Failure};
pub(in crate::cvo) use super::graph::ApplyMode;
use super::graph::TaskGraph;
use super::limit::Limit;
use super::manifest::{existing, write_for};
use super::need::{self, NextAction, Settled};
use super::operators::{self, Watches};
use super::overrides::Overrides;
use super::pass::{Pass, PassAction};
use crate::cvo::capabilities::Capabilities;
use crate::cvo::outbox::{Outbox, Purpose};
use crate::cvo::payload::{ApplyRule, Payload, PayloadObject, Task, TaskKind, existing_operator};
use crate::release::Release;

/// The maximum of manifests that are done in one step if they need no request, so that a pass costs few
/// steps.
const STRIDE: u32 = 200;
/// The poll interval for objects that are not ready yet.
const POLL: SignedDuration = SignedDuration::from_secs(3);

/// Sources of lines about tasks.
const RUNNING: &str = "sync_worker.go:1092";
const DONE: &str = "sync_worker.go:1109";
const TASK_FAILED: &str = "task.go:128";

#[derive(Debug, Clone)]
pub(in crate::cvo) struct Work {
    pub(in crate::cvo) release: Release,
    /// Generation of the ClusterVersion that the current or last pass has seen.
    pub(in crate::cvo) generation: i64,
    /// `spec.desiredUpdate.force`.
    pub(in crate::cvo) force: bool,
    /// Whether this process verified the release's signature.
    pub(in crate::cvo) verified: bool,
    /// The risks accepted for this release. `None` for the payload in the operator's own image.
    pub(in crate::cvo) accepted_risks: Option<String>,
}

/// The progress that the loop reports.
#[derive(Debug, Clone, Default)]
pub(in crate::cvo) struct Progress {
    /// Manifests done in the reported pass.
    pub(in crate::cvo) done: u32,
    /// Manifests of the payload.
    pub(in crate::cvo) total: u32,
    /// Passes completed since the work began.
    pub(in crate::cvo) completed: u32,
    /// Why the last pass failed, or the current one will.
    pub(in crate::cvo) failure: Option<Failure>,
}

/// The intervals and random numbers for the passes of a process.
#[derive(Debug, Clone)]
pub(in crate::cvo) struct PassPace {
    pub(in crate::cvo) interval: SignedDuration,
    /// Random part of the waits after errors.
    pub(in crate::cvo) jitter: Stream,
    /// Random numbers for the order of tasks.
    pub(in crate::cvo) orders: Streams,
}

#[derive(Debug, Clone)]
pub(in crate::cvo) struct ApplyLoop {
    pub(in crate::cvo) work: Work,
    pub(in crate::cvo) mode: ApplyMode,
    pub(in crate::cvo) progress: Progress,
    pub(in crate::cvo) watches: Watches,
    pub(in crate::cvo) payload: Payload,
    overrides: Overrides,
    /// Settings that the next pass applies.
    saved: Option<SavedSettings>,
    /// The object that was last found or written as wanted, by task. It is not compared again until it
    /// changes.
    settled: Vec<Option<Settled>>,
    /// Uid of the ClusterVersion that owns the applied objects.
    owner: String,
    /// Indices of the tasks whose object was deleted.
    deletions: BTreeSet<usize>,
    pass: Option<Pass>,
    pace: PassPace,
    limit: Limit,
    next_pass_at: Time,
    /// Generation of the ClusterVersion for the next pass.
    pub(in crate::cvo) latest_generation: i64,
    /// Failed passes since the work changed or since the last completed pass.
    errors: u32,
    /// All failed passes of this process. The waits after failures grow with this number.
    pub(in crate::cvo) failed_passes: u32,
    /// Whether a ClusterOperator changed during this pass in a way that may let the next one succeed.
    notified: bool,
    /// Whether the last pass completed with reports only. The next pass then reconciles.
    reconciles_next: bool,
    /// Failed attempts to apply a manifest.
    pub(in crate::cvo) failed_attempts: u64,
    /// Manifests done in the current or last pass.
    pub(in crate::cvo) pass_done: u32,
}

impl ApplyLoop {
    /// A loop whose first pass starts at once.
    pub(in crate::cvo) fn new(
        work: Work,
        mode: ApplyMode,
        payload: Payload,
        pace: PassPace,
        now: Time,
    ) -> Self {
        let progress = Progress { total: payload.total, ..Progress::default() };
        Self {
            latest_generation: work.generation,
            work,
            mode,
            progress,
            watches: Watches::default(),
            overrides: Overrides::default(),
            saved: None,
            settled: vec![None; payload.tasks.len()],
            owner: String::new(),
            deletions: BTreeSet::new(),
            payload,
            pass: None,
            pace,
            limit: Limit::new(now),
            next_pass_at: now,
            errors: 0,
            failed_passes: 0,
            notified: false,
            reconciles_next: false,
            failed_attempts: 0,
            pass_done: 0,
        }
    }

    /// The time at which the loop continues. `None` while it waits for an answer.
    pub(in crate::cvo) fn wake_at(&self) -> Option<Time> {
        self.pass.as_ref().map_or(Some(self.next_pass_at), Pass::wake_at)
    }

    /// Runs until the loop has to wait. Returns whether there is progress to report.
    pub(in crate::cvo) fn run(
        &mut self,
        view: &View,
        capabilities: &Capabilities,
        now: Time,
        out: &mut Outbox,
    ) -> bool {
        if self.pass.is_none() && self.next_pass_at <= now {
            self.apply_saved_settings(now);
            self.forget_other_owner(view);
            self.work.generation = self.latest_generation;
            if std::mem::take(&mut self.reconciles_next) {
                self.mode = ApplyMode::Reconciling;
            }
            let (version, generation) = (&self.work.release.version, self.work.generation);
            let (state, attempt) = (self.mode, self.errors);
            out.info(
                now,
                "sync_worker.go:973",
                format_args!(
                    "apply: {version} on generation {generation} in state {state:?} at attempt {attempt}"
                ),
            );
            let graph = TaskGraph::build(&self.payload.tasks, self.mode, self.errors, self.pace.orders);
            let limit = self.pace.interval * if self.mode == ApplyMode::Initializing { 1 } else { 2 };
            self.pass = Some(Pass::new(self.mode, graph, limit, now));
        }
        let mut has_progress = false;
        while self.pass.as_ref().and_then(Pass::wake_at).is_some_and(|at| at <= now) {
            has_progress |= self.advance(view, capabilities, now, out);
        }
        has_progress
    }

    /// Forgets the settled objects if the ClusterVersion was recreated, because the new one owns nothing.
    fn forget_other_owner(&mut self, view: &View) {
        let owner = view.get(&CLUSTER_VERSIONS, "", "version").map(Object::uid).unwrap_or_default();
        if self.owner != owner {
            owner.clone_into(&mut self.owner);
            self.settled.fill(None);
        }
    }

    /// Handles the answer to the write of a manifest.
    pub(in crate::cvo) fn answered(&mut self, answer: &Answer, now: Time, out: &mut Outbox) {
        let logs_tasks = self.logs_tasks();
        let Some(pass) = self.pass.as_mut() else { return };
        match (pass.awaits.take(), &answer.outcome) {
            // A missing ClusterOperator is reported later, when the pass waits for it.
            (Some(PassAction::Precreate(_)), Err(_)) => pass.precreated(),
            (Some(PassAction::Task(index)), Ok(object)) => {
                if matches!(answer.write.operation, Operation::Delete(_)) {
                    self.deletions.insert(index);
                } else {
                    let wanted = match &self.payload.tasks[index].what {
                        TaskKind::Object(wanted) => Some(&**wanted),
                        _ => None,
                    };
                    self.settled[index] = Some(Settled::new(&answer.write.resource, object, wanted));
                }
                // A Job is done when it has completed, a ClusterOperator when it is healthy.
                if ![JOBS, CLUSTER_OPERATORS].contains(&answer.write.resource) {
                    let task = &self.payload.tasks[index];
                    if logs_tasks && task.object().is_some() {
                        let name = describe(task, self.payload.total);
                        out.detail(now, DONE, format_args!("Done syncing for {name}"));
                    }
                    pass.task_done();
                    pass.depart(1, self.limit.take(1, self.mode, now));
                }
            }
            (Some(PassAction::Task(index)), Err(rejection)) => {
                self.failed_attempts += 1;
                let task = &self.payload.tasks[index];
                let name = describe(task, self.payload.total);
                let error = format_args!("error running apply for {name}: {}", rejection.message);
                out.error(now, TASK_FAILED, error);
                let failure =
                    Failure::of_manifest(&task.name(), task.index, self.payload.total, &rejection.reason);
                pass.rejected(failure, now);
            }
            _ => {}
        }
    }

    /// Continues to the next task that needs a request or a wait, or ends the pass.
    fn advance(&mut self, view: &View, capabilities: &Capabilities, now: Time, out: &mut Outbox) -> bool {
        self.arrive();
        let logs_tasks = self.logs_tasks();
        let mut manifests = 0;
        loop {
            let (payload, overrides) = (&self.payload, &self.overrides);
            let Some(pass) = self.pass.as_mut() else { return false };
            pass.expire(payload, now);
            let included = |task: &Task| {
                capabilities.include(&task.place.capabilities)
                    && !task.object().is_some_and(|object| overrides.contains(object))
            };
            let next = pass.next(&payload.tasks, included, now);
            let need = match next {
                PassAction::End if manifests == 0 => return self.end_pass(now, out),
                PassAction::End | PassAction::Wait(_) => break,
                PassAction::Precreate(index) => self.precreation(index, view, now),
                PassAction::Task(index) => self.need(index, view, now),
            };
            let Some(pass) = self.pass.as_mut() else { return false };
            if matches!(need, NextAction::Retry(_) | NextAction::Fail(_)) {
                self.failed_attempts += 1;
            }
            if let PassAction::Task(index) = next
                && (manifests == 0 || matches!(need, NextAction::Time(_)))
            {
                let (task, total) = (&self.payload.tasks[index], self.payload.total);
                let starts = pass.start_task();
                let is_logged = logs_tasks && task.object().is_some();
                if starts && is_logged {
                    out.detail(now, RUNNING, format_args!("Running sync for {}", describe(task, total)));
                }
                match &need {
                    NextAction::Time(_) if is_logged => {
                        out.detail(now, DONE, format_args!("Done syncing for {}", describe(task, total)));
                    }
                    NextAction::Retry(failure) | NextAction::Fail(failure) => {
                        let name = describe(task, total);
                        let error = format_args!("error running apply for {name}: {}", failure.message);
                        out.error(now, TASK_FAILED, error);
                    }
                    _ => {}
                }
            }
            match need {
                NextAction::Time(_) if matches!(next, PassAction::Precreate(_)) => pass.precreated(),
                NextAction::Time(count) => {
                    manifests += count;
                    pass.task_done();
                }
                // This task's turn comes when the manifests before it are done.
                _ if manifests > 0 => break,
                NextAction::Write(write) => {
                    pass.awaits = Some(next);
                    out.push(Purpose::Apply, *write);
                    return true;
                }
                NextAction::Poll => pass.retry_after(POLL, now),
                NextAction::Retry(failure) => pass.rejected(failure, now),
                NextAction::Fail(failure) => pass.failed(failure),
            }
            // The first manifest is a step of its own, so that the start of the pass is reported.
            if pass.done == 0 || manifests >= STRIDE {
                break;
            }
        }
        if let Some(pass) = self.pass.as_mut().filter(|_| manifests > 0) {
            pass.depart(manifests, self.limit.take(manifests, self.mode, now));
        }
        manifests > 0
    }

    /// Returns the next action to create a ClusterOperator before the rest of its task node. The wait for the
    /// operator is measured from the first attempt to create it.
    fn precreation(&mut self, index: usize, view: &View, now: Time) -> NextAction {
        let TaskKind::ClusterOperator(operator) = &self.payload.tasks[index].what else {
            return NextAction::Time(0);
        };
        self.watches.start(operator.object["metadata"]["name"].as_str().unwrap_or_default(), now);
        let owner = view.get(&CLUSTER_VERSIONS, "", "version");
        match existing_operator(view, operator) {
            // `relatedObjects` is written only once, before the operator reports a status of its own.
            Some(existing) if existing.get("status").is_none() && !operator.related_objects.is_null() => {
                let mut object = existing.to_value();
                object["status"] = json!({ "relatedObjects": operator.related_objects });
                NextAction::Write(Box::new(Write::update_status(&CLUSTER_OPERATORS, object)))
            }
            Some(_) => NextAction::Time(0),
            None => write_for(None, &CLUSTER_OPERATORS, &operator.object, ApplyRule::Apply, owner)
                .map_or(NextAction::Time(0), |write| NextAction::Write(Box::new(write))),
        }
    }

    fn need(&mut self, index: usize, view: &View, now: Time) -> NextAction {
        let (tasks, total) = (Arc::clone(&self.payload.tasks), self.payload.total);
        let task = &tasks[index];
        let rejection = |reason| Failure::of_manifest(&task.name(), task.index, total, reason);
        match &task.what {
            TaskKind::Counted(count) => NextAction::Time(*count),
            TaskKind::Object(wanted) => {
                // An earlier process or earlier work may have deleted an object that still terminates.
                let deletes = wanted.rule == ApplyRule::Delete && self.mode == ApplyMode::Updating;
                if deletes && existing_object(wanted, view).is_some_and(Object::is_terminating) {
                    self.deletions.insert(index);
                }
                let settled = &mut self.settled[index];
                need::object_action(wanted, settled, view, self.mode)
                    .unwrap_or_else(|reason| NextAction::Retry(rejection(reason)))
            }
            TaskKind::ClusterOperator(operator) => {
                let Some(object) = existing_operator(view, operator) else {
                    return NextAction::Retry(rejection("NotFound"));
                };
                let settled = &mut self.settled[index];
                if self.mode == ApplyMode::Reconciling
                    && let Some(write) = need::metadata(&operator.object, settled, object, view)
                {
                    return NextAction::Write(Box::new(write));
                }
                self.operator_need(object, &operator.versions, now)
            }
        }
    }

    fn operator_need(&mut self, object: &Object, versions: &[(String, String)], now: Time) -> NextAction {
        match operators::operator_failure(object, versions, self.mode) {
            None => {
                self.pass.iter_mut().for_each(|pass| pass.healthy.push(object.name().to_owned()));
                NextAction::Time(1)
            }
            Some(failure) => {
                failure.operators.iter().for_each(|name| self.watches.start(name, now));
                if failure.effect != FailingEffect::Report {
                    return NextAction::Fail(failure);
                }
                // This failure is only reported. The component and the later ones continue.
                self.failed_attempts += 1;
                self.pass.iter_mut().for_each(|pass| pass.reports.push(failure.clone()));
                NextAction::Time(1)
            }
        }
    }

    /// Whether lines about single tasks are printed. Passes that only correct an applied release print none,
    /// unless the pass before failed.
    fn logs_tasks(&self) -> bool {
        self.mode != ApplyMode::Reconciling || self.errors > 0
    }

    /// Counts the manifests in progress as done.
    fn arrive(&mut self) {
        let Some(pass) = self.pass.as_mut() else { return };
        pass.arrive();
        self.pass_done = pass.done;
        // After a failed pass, progress is reported only when this pass gets as far as the failed one did.
        if self.progress.failure.is_none() || pass.done >= self.progress.done {
            self.progress.done = pass.done;
            self.progress.failure = None;
            self.end_waits();
        }
    }

    /// Ends the waits for the operators that the pass found healthy. While an earlier failure is reported they continue: an
    /// operator without a wait counts as one that took too long.
    pub(super) fn end_waits(&mut self) {
        let healthy = self.pass.as_mut().map(|pass| std::mem::take(&mut pass.healthy));
        healthy.into_iter().flatten().for_each(|operator| self.watches.stop(&operator));
    }

    fn end_pass(&mut self, now: Time, out: &mut Outbox) -> bool {
        self.end_waits();
        let Some(pass) = self.pass.take() else { return false };
        let messages: Vec<&str> = pass.failures.iter().map(|failure| failure.message.as_str()).collect();
        out.info(now, "task_graph.go:564", format_args!("Result of work: [{}]", messages.join(", ")));
        if !messages.is_empty() {
            out.info(now, "sync_worker.go:1262", format_args!("Summarizing {} errors", messages.len()));
            for Failure { reason, message, .. } in &pass.failures {
                out.info(now, "sync_worker.go:1268", format_args!("Update error: {reason} {message}"));
            }
        }
        let notified = std::mem::take(&mut self.notified);
        // Also of a failed pass (`consistentReporter.Errors`).
        self.progress.done = pass.done;
        let failed = !pass.failures.is_empty();
        let failure = failure::merge(if failed { pass.failures } else { pass.reports });
        if failed {
            self.errors += 1;
            self.failed_passes += 1;
            self.progress.completed = 0;
            let share = 1i32 << self.failed_passes.min(4);
            let jitter = 1.0 + 0.2 * self.pace.jitter.fraction();
            self.next_pass_at = now + (self.pace.interval * share / 16).mul_f64(jitter);
        } else {
            self.errors = 0;
            self.next_pass_at = now + self.pace.interval;
            if failure.is_none() {
                self.progress.completed += 1;
                if self.mode != ApplyMode::Reconciling {
                    let before = self.mode;
                    let message =
                        format_args!("Sync succeeded, transitioning from {before:?} to Reconciling");
                    out.info(now, "sync_worker.go:736", message);
                }
                self.mode = ApplyMode::Reconciling;
            } else {
                self.reconciles_next = true;
            }
        }
        if notified && (failed || self.saved.is_some()) {
            self.next_pass_at = now;
        }
        self.progress.failure = failure;
        true
    }
}

/// A task as the log names it.
fn describe(task: &Task, total: u32) -> String {
    format!("{} ({} of {total})", task.name(), task.index)
}

/// The cluster's object with the name in the manifest.
fn existing_object<'a>(wanted: &PayloadObject, view: &'a View) -> Option<&'a Object> {
    existing(view, &wanted.resource(view)?, &wanted.object)
}
