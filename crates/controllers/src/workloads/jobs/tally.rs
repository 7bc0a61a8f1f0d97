//! The pods of a Job, and how those are counted that have ended.
//!
//! A pod holds a finalizer until its end stands in the status: first its UID does (`status.uncountedTerminatedPods`), then the
//! finalizer goes, then the UID becomes a count. Whatever happens between, it is counted once.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, View, Write};

use super::indexes::{self, Indexes};
use super::policy::{self, Verdict};
use crate::workloads::owners;

/// The finalizer of pods whose end is not counted yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Whether the end of a pod is still to be counted.
pub(super) fn is_tracked(pod: &Object) -> bool {
    pod.list("/metadata/finalizers").iter().any(|finalizer| finalizer == TRACKING)
}

/// Removes the finalizer of a pod that is counted, or need not be.
pub(super) fn untrack(pod: &Object) -> Write {
    let rest: Vec<&Value> =
        pod.list("/metadata/finalizers").iter().filter(|finalizer| **finalizer != TRACKING).collect();
    let rest = if rest.is_empty() { Value::Null } else { json!(rest) };
    let patch = json!({ "metadata": { "uid": pod.uid(), "finalizers": rest } });
    Write::merge_patch(&PODS, pod.namespace(), pod.name(), patch)
}

/// How a pod ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Succeeded,
    Failed,
    /// It failed, and by the policy that does not count.
    Ignored,
}

/// The pods of a Job, counted.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    job: &'a Object,
    /// Neither ended nor being deleted.
    pub(super) active: Vec<&'a Object>,
    /// Being deleted and not ended.
    terminating: Vec<&'a Object>,
    /// How many have succeeded; of an indexed Job, how many indexes.
    pub(super) succeeded: i64,
    /// How many have failed.
    pub(super) failed: i64,
    /// Of these, those whose UIDs stand in the status, or are to.
    pub(super) uncounted: [BTreeSet<String>; 2],
    /// The indexes that are done, of an indexed Job.
    pub(super) completed: Option<Indexes>,
    /// The first failure that fails the Job by its policy.
    pub(super) fatal: Option<String>,
    /// Ended pods whose end stands in the status of the API.
    counted: Vec<&'a Object>,
    /// Whether ends are still on their way into the counts.
    open: bool,
}

impl<'a> Tally<'a> {
    /// Counts the pods of `job`.
    pub(super) fn of(job: &'a Object, view: &'a View) -> Self {
        let count = |field: &str| job.number(&format!("/status/{field}")).unwrap_or(0);
        let completed = indexes::is_indexed(job).then(|| Indexes::read(job.text("/status/completedIndexes")));
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

    /// All pods that have not ended.
    pub(super) fn not_ended(&self) -> impl Iterator<Item = &'a Object> {
        self.active.iter().chain(&self.terminating).copied()
    }

    /// Counts those whose finalizers are gone.
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
        let has_ended = matches!(pod.text("/status/phase"), "Succeeded" | "Failed");
        match (has_ended, pod.is_terminating()) {
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

    /// How a pod ended that is not counted yet; `None`: it has not.
    fn fate(&mut self, pod: &Object) -> Option<Fate> {
        match pod.text("/status/phase") {
            "Succeeded" => return Some(Fate::Succeeded),
            "Failed" => {}
            // Who replaces pods only when they have failed waits for that; for others a pod that is sent away has failed.
            _ if self.replaces_failed_only() => return None,
            _ => return Some(Fate::Failed),
        }
        match policy::verdict(self.job, pod) {
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

    /// The index of a pod is done.
    fn complete(&mut self, pod: &'a Object) {
        let Some(index) = indexes::index_of(pod) else { return self.counted.push(pod) };
        if Indexes::read(self.job.text("/status/completedIndexes")).has(index) {
            self.counted.push(pod);
        } else if let Some(completed) = &mut self.completed {
            self.open = true;
            completed.insert(index);
        }
    }

    /// Whether a pod is replaced only when it has failed, not when it is on its way out (`spec.podReplacementPolicy`).
    pub(super) fn replaces_failed_only(&self) -> bool {
        let spec = &self.job["spec"];
        match spec["podReplacementPolicy"].as_str() {
            Some(policy) => policy == "Failed",
            None => !spec["podFailurePolicy"].is_null(),
        }
    }

    /// How many pods have succeeded and failed, those included that are being counted.
    pub(super) fn totals(&self) -> [i64; 2] {
        let [succeeded, failed] = &self.uncounted;
        [self.succeeded + number(succeeded.len()), self.failed + number(failed.len())]
    }

    /// How many pods have to succeed; `None`: one is enough (`spec.completions`).
    pub(super) fn wanted(&self) -> Option<i64> {
        self.job.number("/spec/completions")
    }

    /// How many pods are on their way out.
    pub(super) fn terminating(&self) -> i64 {
        number(self.terminating.len())
    }

    /// Lets those go whose end stands in the status.
    pub(super) fn untracked(&self) -> Vec<Write> {
        self.counted.iter().copied().map(untrack).collect()
    }

    /// Whether all that has ended is counted.
    pub(super) fn is_settled(&self) -> bool {
        !self.open && self.counted.is_empty()
    }
}

/// The UIDs of pods that have ended and are not counted yet, as the status has them.
fn uncounted(job: &Object, kind: &str) -> BTreeSet<String> {
    let list = job.list(&format!("/status/uncountedTerminatedPods/{kind}"));
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// As the API has counts.
pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
