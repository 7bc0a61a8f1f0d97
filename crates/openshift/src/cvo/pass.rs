//! One pass over the payload: which task is next, which wait, and what went wrong.
//!
//! All workers share the operator's client, and with it the limit of its requests, so that at any moment one of them is
//! at work. They take turns; what has to wait keeps only its own node.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::failure::{Effect, Failure};
use super::graph::{Graph, Mode, Node};
use super::payload::{Payload, Task, What};

/// Waits before a manifest that was refused is tried again.
const RETRIES: &[SignedDuration] = &[SignedDuration::from_secs(10), SignedDuration::from_secs(13)];
/// The same in a cluster that is being installed.
const RETRIES_INITIALIZING: &[SignedDuration] =
    &[SignedDuration::from_secs(1), SignedDuration::from_secs(2), SignedDuration::from_secs(4)];

/// A pass, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    mode: Mode,
    graph: Graph,
    step: usize,
    /// Nodes of the step that nobody has taken yet.
    open: VecDeque<Node>,
    workers: Vec<Worker>,
    /// Whose turn it is.
    turn: usize,
    /// When the client may be used again, and for how many manifests it is used until then.
    ready_at: Time,
    under_way: u32,
    /// When it is given up.
    deadline: Time,
    /// What the answer to a write is to come for.
    pub(super) awaits: Option<Next>,
    /// Manifests done.
    pub(super) done: u32,
    /// What went wrong so far.
    pub(super) failures: Vec<Failure>,
    /// What is only told of: nothing waits for it.
    pub(super) reports: Vec<Failure>,
}

/// One worker with its node.
#[derive(Debug, Clone)]
struct Worker {
    node: Node,
    /// ClusterOperators of the node that are still to be created before anything else.
    precreations: VecDeque<usize>,
    at: usize,
    tries: usize,
    ready_at: Time,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// To create the ClusterOperator of this task, if it is not there.
    Precreate(usize),
    /// This task.
    Task(usize),
    /// Nothing before this moment.
    Wait(Time),
    /// Nothing: it is over.
    End,
}

impl Pass {
    /// A pass that begins now and may last this long.
    pub(super) fn new(mode: Mode, mut graph: Graph, limit: SignedDuration, now: Time) -> Self {
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
        }
    }

    /// When it wants to go on; `None` while an answer is awaited.
    pub(super) fn wake_at(&self) -> Option<Time> {
        if self.awaits.is_some() {
            return None;
        }
        let worker = self.workers.iter().map(|worker| worker.ready_at).min();
        // A worker that is missing takes the next node at once.
        let worker = worker.filter(|_| self.workers.len() >= self.graph.workers || self.open.is_empty());
        Some(worker.map_or(self.ready_at, |at| at.max(self.ready_at)).min(self.deadline))
    }

    /// Counts the manifests that were under way.
    pub(super) fn arrive(&mut self) {
        self.done += std::mem::take(&mut self.under_way);
    }

    /// Sets out on this many manifests, which are done at this moment.
    pub(super) fn depart(&mut self, manifests: u32, done_at: Time) {
        self.under_way = manifests;
        self.ready_at = done_at;
    }

    /// What comes next, of the tasks that are `included`.
    pub(super) fn next(&mut self, tasks: &[Task], included: impl Fn(&Task) -> bool, now: Time) -> Next {
        loop {
            self.hire(tasks, &included, now);
            if self.workers.is_empty() {
                match self.graph.steps.get_mut(self.step + 1) {
                    Some(step) if self.failures.is_empty() => self.open = std::mem::take(step).into(),
                    _ => return Next::End,
                }
                self.step += 1;
                continue;
            }
            let count = self.workers.len();
            let ready = |index: &usize| self.workers[*index].ready_at <= now;
            let Some(index) = (0..count).map(|offset| (self.turn + offset) % count).find(ready) else {
                return Next::Wait(self.workers.iter().map(|worker| worker.ready_at).min().unwrap_or(now));
            };
            self.turn = index;
            let worker = &mut self.workers[index];
            if let Some(task) = worker.precreations.front() {
                return Next::Precreate(*task);
            }
            while worker.at < worker.node.len() && !included(&tasks[worker.node[worker.at]]) {
                worker.at += 1;
            }
            match worker.node.get(worker.at) {
                Some(task) => return Next::Task(*task),
                None => _ = self.workers.remove(index),
            }
        }
    }

    /// Gives open nodes to workers that are free.
    fn hire(&mut self, tasks: &[Task], included: impl Fn(&Task) -> bool, now: Time) {
        while self.workers.len() < self.graph.workers {
            let Some(node) = self.open.pop_front() else { return };
            let is_operator = |task: &&usize| {
                matches!(tasks[**task].what, What::ClusterOperator(_)) && included(&tasks[**task])
            };
            let precreations = node.iter().filter(is_operator).copied().collect();
            self.workers.push(Worker { node, precreations, at: 0, tries: 0, ready_at: now });
        }
    }

    /// The ClusterOperator of the worker whose turn it is was created, or need not be.
    pub(super) fn precreated(&mut self) {
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.precreations.pop_front();
        }
    }

    /// The task of the worker whose turn it is was done; the next worker is on.
    pub(super) fn task_done(&mut self) {
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.at += 1;
            worker.tries = 0;
        }
        self.turn += 1;
    }

    /// The worker whose turn it is looks again after this time.
    pub(super) fn look_again(&mut self, wait: SignedDuration, now: Time) {
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.ready_at = now + wait;
        }
        self.turn += 1;
    }

    /// The task of the worker whose turn it is was refused: it is tried a few times, and then fails.
    pub(super) fn refused(&mut self, failure: Failure, now: Time) {
        let retries = if self.mode == Mode::Initializing { RETRIES_INITIALIZING } else { RETRIES };
        let tries = self.workers.get(self.turn).map_or(usize::MAX, |worker| worker.tries);
        let Some(wait) = retries.get(tries) else { return self.failed(failure) };
        if let Some(worker) = self.workers.get_mut(self.turn) {
            worker.tries += 1;
        }
        self.look_again(*wait, now);
    }

    /// The task of the worker whose turn it is failed, and with it the rest of the node.
    pub(super) fn failed(&mut self, failure: Failure) {
        if self.turn < self.workers.len() {
            self.workers.remove(self.turn);
        }
        self.failures.push(failure);
    }

    /// Gives up what is not done in time.
    pub(super) fn expire(&mut self, payload: &Payload, now: Time) {
        if now < self.deadline {
            return;
        }
        let at_work = self.workers.drain(..).map(|worker| worker.node);
        let later = self.graph.steps.iter_mut().skip(self.step + 1).flat_map(std::mem::take);
        let incomplete: Vec<Node> = at_work.chain(self.open.drain(..)).chain(later).collect();
        let first = incomplete.iter().filter_map(|node| node.first()).min();
        if let Some(task) = first.and_then(|index| payload.tasks.get(*index)) {
            let message = format!(
                "{} incomplete task nodes, beginning with {} ({} of {})",
                incomplete.len(),
                task.name(),
                task.index,
                payload.total
            );
            self.failures.push(Failure::of_workload("", message, Effect::Fail, String::new()));
        }
    }
}
