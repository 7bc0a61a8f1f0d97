//! The number of pods that a Job runs in parallel: pods to create and delete.

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{JOBS, PODS};
use windtunnel_core::{Object, Write, pod};

use super::indexes::{self, Indexes};
use super::number;
use super::replacement_policy::replaces_failed_only;
use super::tally::{TRACKING, Tally};
use crate::owners;

/// The maximum number of pods created at once (`MaxPodCreateDeletePerSync`).
const MOST_AT_ONCE: usize = 500;

/// A change of the number of pods.
#[derive(Debug, Default)]
pub(super) struct Scale<'a> {
    /// The pods to delete.
    pub(super) leaving: Vec<&'a Object>,
    /// The pods to create, with their indexes in an indexed Job.
    coming: Vec<Option<i64>>,
    /// The time at which delayed pods may be created.
    pub(super) retry_at: Option<Time>,
}

impl<'a> Scale<'a> {
    /// Deletes all active pods.
    pub(super) fn down(tally: &Tally<'a>) -> Self {
        Self { leaving: tally.active.clone(), ..Self::default() }
    }

    /// Creates or deletes pods to reach the wanted number.
    pub(super) fn of(job: &Object, tally: &Tally<'a>, retry_at: Option<Time>, now: Time) -> Self {
        let active = tally.active.len();
        let wanted = wanted(job, tally);
        let mut scale = Self::default();
        if let Some(too_many) = active.checked_sub(wanted).filter(|count| *count > 0) {
            scale.leaving = pods_to_delete(&tally.active, too_many);
            return scale;
        }
        let terminating = if replaces_failed_only(job) { tally.terminating() } else { 0 };
        let terminating = usize::try_from(terminating).unwrap_or(0);
        let count = (wanted - active).saturating_sub(terminating).min(MOST_AT_ONCE);
        if count == 0 {
            return scale;
        }
        if retry_at.is_some_and(|at| at > now) {
            scale.retry_at = retry_at;
            return scale;
        }
        scale.coming = match (&tally.completed, tally.wanted()) {
            (Some(done), Some(completions)) => missing(completions, done, &tally.active, count),
            _ => vec![None; count],
        };
        scale
    }

    /// Whether no pods are created or deleted.
    pub(super) fn is_still(&self) -> bool {
        self.leaving.is_empty() && self.coming.is_empty()
    }

    /// The number of pods to create.
    pub(super) fn coming(&self) -> usize {
        self.coming.len()
    }

    /// The write requests.
    pub(super) fn writes(&self, job: &Object, minor: u32) -> Vec<Write> {
        let deletions = self.leaving.iter().map(|pod| Write::delete(&PODS, pod.namespace(), pod.name()));
        let creations = self.coming.iter().map(|index| create(job, *index, minor));
        deletions.chain(creations).collect()
    }
}

fn missing(completions: i64, done: &Indexes, active: &[&Object], count: usize) -> Vec<Option<i64>> {
    indexes::missing(completions, done, active, count).into_iter().map(Some).collect()
}

/// The wanted number of active pods: `spec.parallelism`, limited by the remaining completions.
fn wanted(job: &Object, tally: &Tally<'_>) -> usize {
    let parallelism = job.number("/spec/parallelism").unwrap_or(1).max(0);
    let [succeeded, _] = tally.totals();
    let wanted = match tally.wanted() {
        Some(completions) => (completions - succeeded).clamp(0, parallelism),
        None if succeeded > 0 => number(tally.active.len()).min(parallelism),
        None => parallelism,
    };
    usize::try_from(wanted).unwrap_or(0)
}

/// Selects pods to delete: those in the earliest stage of their start first, then the youngest.
fn pods_to_delete<'a>(active: &[&'a Object], count: usize) -> Vec<&'a Object> {
    let mut pods = active.to_vec();
    pods.sort_by_key(|pod| {
        let is_ready = windtunnel_core::condition::is_true(pod, "Ready");
        let age = pod.time("/metadata/creationTimestamp");
        (!pod::node_name(pod).is_empty(), pod::phase(pod) == "Running", is_ready, std::cmp::Reverse(age))
    });
    pods.truncate(count);
    pods
}

fn create(job: &Object, index: Option<i64>, minor: u32) -> Write {
    let labels = [("job-name", job.name()), ("controller-uid", job.uid())];
    let mut pod = owners::pod_from_template(job, &JOBS, job.name(), &labels);
    let mut finalizers = pod["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.push(json!(TRACKING));
    pod["metadata"]["finalizers"] = json!(finalizers);
    if let Some(index) = index {
        indexes::give(&mut pod, job.name(), index, minor);
    }
    Write::create(&PODS, pod)
}
