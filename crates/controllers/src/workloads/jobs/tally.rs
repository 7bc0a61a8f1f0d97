//! Counting of a Job's ended pods.
//!
//! A pod keeps a finalizer until its end is in the status: the controller adds the uid of the pod to
//! `status.uncountedTerminatedPods`, then removes the finalizer, and then replaces the uid by a count. A
//! crash in between cannot lead to a double or missing count.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, View, Write, pod};

use super::failure_policy::{self, Verdict};
use super::indexes::{self, Indexes};
use super::number;
use super::replacement_policy::replaces_failed_only;
use crate::owners;

/// The finalizer of pods that are not counted yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Whether a pod has the finalizer.
pub(super) fn is_tracked(pod: &Object) -> bool {
    pod.list("/metadata/finalizers").iter().any(|finalizer| finalizer == TRACKING)
}

/// Removes the finalizer of a pod.
pub(super) fn untrack(pod: &Object) -> Write {
    let rest: Vec<&Value> =
        pod.list("/metadata/finalizers").iter().filter(|finalizer| **finalizer != TRACKING).collect();
    let rest = if rest.is_empty() { Value::Null } else { json!(rest) };
    let patch = json!({ "metadata": { "uid": pod.uid(), "finalizers": rest } });
    Write::merge_patch(&PODS, pod.namespace(), pod.name(), patch)
}

/// The result of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Succeeded,
    Failed,
    /// It failed, but the pod failure policy ignores that.
    Ignored,
}

/// The counted pods of a Job.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    job: &'a Object,
    /// Pods that have neither ended nor are terminating.
    pub(super) active: Vec<&'a Object>,
    /// Terminating pods that have not ended.
    terminating: Vec<&'a Object>,
    /// The number of succeeded pods, or of succeeded indexes in an indexed Job.
    pub(super) succeeded: i64,
    /// The number of failed pods.
    pub(super) failed: i64,
    /// The uids of further succeeded and failed pods that are, or will be, in `uncountedTerminatedPods`.
    pub(super) uncounted: [BTreeSet<String>; 2],
    /// The completed indexes of an indexed Job.
    pub(super) completed: Option<Indexes>,
    /// The message of the first failure that fails the Job by its policy.
    pub(super) fatal: Option<String>,
    /// Ended pods whose results are in the status in the API.
    counted: Vec<&'a Object>,
    /// Whether some results are not in the counts yet.
    open: bool,
}

impl<'a> Tally<'a> {
    /// Counts the pods of `job`.
    pub(super) fn of(job: &'a Object, view: &'a View) -> Self {
        let count = |field: &str| job.number(&format!("/status/{field}")).unwrap_or(0);
        let completed =
            indexes::is_indexed(job).then(|| Indexes::parse(job.text("/status/completedIndexes")));
        let mut tally = Self {
            job,
            active: Vec::new(),
            terminating: Vec::new(),
            succeeded: count("succeeded"),
            failed: count("failed"),
            uncounted: ["succeeded", "failed"].map(|kind| uncounted(job, kind)),
            completed,
            fatal: None,
            counted: Vec::new(),
            open: false,
        };
        let pods: Vec<&Object> = owners::pods_of(view, job).collect();
        tally.settle(&pods);
        for pod in pods {
            tally.take(pod);
        }
        if let Some(completed) = &tally.completed {
            tally.succeeded = completed.len();
        }
        tally
    }

    pub(super) fn not_ended(&self) -> impl Iterator<Item = &'a Object> {
        self.active.iter().chain(&self.terminating).copied()
    }

    /// Counts pods whose finalizers are removed.
    fn settle(&mut self, pods: &[&Object]) {
        let is_open = |uid: &String| pods.iter().any(|pod| pod.uid() == uid && is_tracked(pod));
        for (uids, count) in self.uncounted.iter_mut().zip([&mut self.succeeded, &mut self.failed]) {
            let before = uids.len();
            uids.retain(is_open);
            *count += number(before - uids.len());
        }
        self.open = self.uncounted.iter().any(|uids| !uids.is_empty());
    }

    fn take(&mut self, pod: &'a Object) {
        match (pod::has_ended(pod), pod.is_terminating()) {
            (false, false) => return self.active.push(pod),
            (false, true) => self.terminating.push(pod),
            _ => {}
        }
        if !is_tracked(pod) {
            return;
        }
        match self.fate(pod) {
            None => {}
            Some(Fate::Succeeded) if self.completed.is_some() => self.complete(pod),
            Some(Fate::Succeeded) => self.count(0, pod),
            Some(Fate::Failed) => self.count(1, pod),
            Some(Fate::Ignored) => self.counted.push(pod),
        }
    }

    /// The result of a pod that is not counted yet; `None` if it has not ended.
    fn fate(&mut self, pod: &Object) -> Option<Fate> {
        match pod::phase(pod) {
            "Succeeded" => return Some(Fate::Succeeded),
            "Failed" => {}
            // With the replacement policy `Failed`, a terminating pod has not failed yet. Otherwise it has.
            _ if replaces_failed_only(self.job) => return None,
            _ => return Some(Fate::Failed),
        }
        match failure_policy::verdict(self.job, pod) {
            Verdict::Count => Some(Fate::Failed),
            Verdict::Ignore => Some(Fate::Ignored),
            Verdict::FailJob(why) => {
                self.fatal.get_or_insert(why);
                Some(Fate::Failed)
            }
        }
    }

    fn count(&mut self, kind: usize, pod: &'a Object) {
        let field = ["succeeded", "failed"][kind];
        if uncounted(self.job, field).contains(pod.uid()) {
            self.counted.push(pod);
        } else {
            self.open = true;
            self.uncounted[kind].insert(pod.uid().to_owned());
        }
    }

    /// Marks the index of a pod as completed.
    fn complete(&mut self, pod: &'a Object) {
        let Some(index) = indexes::index_of(pod) else { return self.counted.push(pod) };
        if Indexes::parse(self.job.text("/status/completedIndexes")).has(index) {
            self.counted.push(pod);
        } else if let Some(completed) = &mut self.completed {
            self.open = true;
            completed.insert(index);
        }
    }

    /// The numbers of succeeded and failed pods, including those that are being counted.
    pub(super) fn totals(&self) -> [i64; 2] {
        let [succeeded, failed] = &self.uncounted;
        [self.succeeded + number(succeeded.len()), self.failed + number(failed.len())]
    }

    /// The required number of successes (`spec.completions`); `None` if one is enough.
    pub(super) fn wanted(&self) -> Option<i64> {
        self.job.number("/spec/completions")
    }

    /// The number of terminating pods.
    pub(super) fn terminating(&self) -> i64 {
        number(self.terminating.len())
    }

    /// Removes the finalizers of pods whose results are in the status.
    pub(super) fn untracked(&self) -> Vec<Write> {
        self.counted.iter().copied().map(untrack).collect()
    }

    /// Whether the results of all ended pods are counted.
    pub(super) fn is_settled(&self) -> bool {
        !self.open && self.counted.is_empty()
    }
}

/// The uids in `uncountedTerminatedPods` of the status.
fn uncounted(job: &Object, kind: &str) -> BTreeSet<String> {
    let list = job.list(&format!("/status/uncountedTerminatedPods/{kind}"));
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
