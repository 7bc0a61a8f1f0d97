//! One pass over the payload: selects the next task, and keeps waits and failures.
//!
//! All workers share one API client and its rate limit, so only one of them works at a time. They take turns.
//! A wait blocks only its own task node.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::failure::{FailingEffect, Failure};
use super::graph::{ApplyMode, TaskGraph, TaskNode};
use crate::cvo::payload::{Payload, Task, TaskKind};

/// Waits before the retries of a rejected manifest.
const RETRIES: &[SignedDuration] = &[SignedDuration::from_secs(10), SignedDuration::from_secs(13)];
/// The same while the cluster is being installed.
const RETRIES_INITIALIZING: &[SignedDuration] =
    &[SignedDuration::from_secs(1), SignedDuration::from_secs(2), SignedDuration::from_secs(4)];

/// A pass and its progress.
#[derive(Debug, Clone)]
pub(in crate::cvo) struct Pass {
    mode: ApplyMode,
    graph: TaskGraph,
    step: usize,
    /// Nodes of the step that no worker has taken yet.
    open: VecDeque<TaskNode>,
    workers: Vec<TaskWorker>,
    /// Index of the worker whose turn it is.
    turn: usize,
    /// When the client is free again, and the number of manifests that it applies until then.
    ready_at: Time,
    under_way: u32,
    /// When the pass is given up.
    deadline: Time,
    /// The action whose answer is outstanding.
    pub(in crate::cvo) awaits: Option<PassAction>,
    pub(in crate::cvo) done: u32,
    pub(in crate::cvo) failures: Vec<Failure>,
    /// Failures that are only reported. Nothing stops for them.
    pub(in crate::cvo) reports: Vec<Failure>,
    /// ClusterOperators that are healthy. The waits for them end with the next report of progress.
    pub(in crate::cvo) healthy: Vec<String>,
}

/// A worker with its task node.
#[derive(Debug, Clone)]
struct TaskWorker {
    node: TaskNode,
    /// ClusterOperators of the node that must be created before its other tasks.
    precreations: VecDeque<usize>,
    at: usize,
    tries: usize,
    /// Whether the current task has started.
    has_started: bool,
    ready_at: Time,
}

/// The next action of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cvo) enum PassAction {
    /// Create the ClusterOperator of this task if it is missing.
    Precreate(usize),
    Task(usize),
    /// Wait until this time.
    Wait(Time),
    End,
}

impl Pass {
    /// A pass that starts now with this time limit.
    pub(in crate::cvo) fn new(
        mode: ApplyMode,
        mut graph: TaskGraph,
        limit: SignedDuration,
        now: Time,
    ) -> Self {
        let open = graph.steps.first_mut().map(std::mem::take).unwrap_or_default().into();
        Self {
            mode,
            graph,
            step: 0,
            open,
            workers: Vec::new(),
            turn: 0,
            ready_at: now,
            under_way: 0,
            deadline: now + limit,
            awaits: None,
            done: 0,
            failures: Vec::new(),
            reports: Vec::new(),
            healthy: Vec::new(),
        }
    }

    /// The time at which the pass continues. `None` while an answer is outstanding.
    pub(in crate::cvo) fn wake_at(&self) -> Option<Time> {
        if self.awaits.is_some() {
            return None;
        }
        let worker = self.workers.iter().map(|worker| worker.ready_at).min();
        // A free worker takes the next node at once.
        let worker = worker.filter(|_| self.workers.len() >= self.graph.workers || self.open.is_empty());
        Some(worker.map_or(self.ready_at, |at| at.max(self.ready_at)).min(self.deadline))
    }

    /// Counts the manifests in progress as done.
    pub(in crate::cvo) fn arrive(&mut self) {
        self.done += std::mem::take(&mut self.under_way);
    }

    /// Starts this many manifests, which are done at this time.
    pub(in crate::cvo) fn depart(&mut self, manifests: u32, done_at: Time) {
        self.under_way = manifests;
        self.ready_at = done_at;
    }

    /// Selects the next action. Tasks that are not `included` are skipped.
    pub(in crate::cvo) fn next(
        &mut self,
        tasks: &[Task],
        included: impl Fn(&Task) -> bool,
        now: Time,
    ) -> PassAction {
        loop {
            self.assign_nodes(tasks, &included, now);
            if self.workers.is_empty() {
                match self.graph.steps.get_mut(self.step + 1) {
                    Some(step) if self.failures.is_empty() => self.open = std::mem::take(step).into(),
                    _ => return PassAction::End,
                }
                self.step += 1;
                continue;
            }
            let count = self.workers.len();
            let ready = |index: &usize| self.workers[*index].ready_at <= now;
            let Some(index) = (0..count).map(|offset| (self.turn + offset) % count).find(ready) else {
                return PassAction::Wait(
                    self.workers.iter().map(|worker| worker.ready_at).min().unwrap_or(now),
                );
            };
            self.turn = index;
            let worker = &mut self.workers[index];
            if let Some(task) = worker.precreations.front() {
                return PassAction::Precreate(*task);
            }
            while worker.at < worker.node.len() && !included(&tasks[worker.node[worker.at]]) {
                worker.at += 1;
                worker.has_started = false;
            }
            match worker.node.get(worker.at) {
                Some(task) => return PassAction::Task(*task),
                None => _ = self.workers.remove(index),
            }
        }
    }

    /// Gives open nodes to free workers.
    fn assign_nodes(&mut self, tasks: &[Task], included: impl Fn(&Task) -> bool, now: Time) {
        while self.workers.len() < self.graph.workers {
            let Some(node) = self.open.pop_front() else { return };
            let is_operator = |task: &&usize| {
                matches!(tasks[**task].what, TaskKind::ClusterOperator(_)) && included(&tasks[**task])
            };
            let precreations = node.iter().filter(is_operator).copied().collect();
            self.workers.push(TaskWorker {
                node,
                precreations,
                at: 0,
                tries: 0,
                has_started: false,
                ready_at: now,
            });
        }
    }

    /// The current worker's ClusterOperator was created, or exists already.
    pub(in crate::cvo) fn precreated(&mut self) {
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.precreations.pop_front();
        }
    }

    /// Starts the current worker's task. Returns false if it has started before.
    pub(in crate::cvo) fn start_task(&mut self) -> bool {
        self.workers
            .get_mut(self.turn)
            .is_some_and(|worker| !std::mem::replace(&mut worker.has_started, true))
    }

    /// The current worker's task is done. The next worker takes its turn.
    pub(in crate::cvo) fn task_done(&mut self) {
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.at += 1;
            worker.tries = 0;
            worker.has_started = false;
        }
        self.turn += 1;
    }

    /// The current worker retries its task after this time.
    pub(in crate::cvo) fn retry_after(&mut self, wait: SignedDuration, now: Time) {
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.ready_at = now + wait;
        }
        self.turn += 1;
    }

    /// Retries the current worker's task, which was rejected. After a few retries it fails.
    pub(in crate::cvo) fn rejected(&mut self, failure: Failure, now: Time) {
        let retries = if self.mode == ApplyMode::Initializing { RETRIES_INITIALIZING } else { RETRIES };
        let tries = self.workers.get(self.turn).map_or(usize::MAX, |worker| worker.tries);
        let Some(wait) = retries.get(tries) else { return self.failed(failure) };
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.tries += 1;
        }
        self.retry_after(*wait, now);
    }

    /// The current worker's task failed, which ends its node.
    pub(in crate::cvo) fn failed(&mut self, failure: Failure) {
        if self.turn < self.workers.len() {
            self.workers.remove(self.turn);
        }
        self.failures.push(failure);
    }

    /// Ends the pass with a failure if its deadline has passed.
    pub(in crate::cvo) fn expire(&mut self, payload: &Payload, now: Time) {
        if now < self.deadline {
            return;
        }
        let at_work = self.workers.drain(..).map(|worker| worker.node);
        let later = self.graph.steps.iter_mut().skip(self.step + 1).flat_map(std::mem::take);
        let incomplete: Vec<TaskNode> = at_work.chain(self.open.drain(..)).chain(later).collect();
        let first = incomplete.iter().filter_map(|node| node.first()).min();
        if let Some(task) = first.and_then(|index| payload.tasks.get(*index)) {
            let message = format!(
                "{} incomplete task nodes, beginning with {} ({} of {})",
                incomplete.len(),
                task.name(),
                task.index,
                payload.total
            );
            self.failures.push(Failure::of_workload("", message, FailingEffect::Fail, String::new()));
        }
    }
}
