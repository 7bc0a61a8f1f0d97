//! The apply loop: passes over the payload until one succeeds, then one pass each reconcile interval.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::capabilities::Capabilities;
use super::failure::{self, Failure};
use super::manifest::{existing, write_for};
use super::operators::{self, Watches};
use super::outbox::{Outbox, Purpose};
use super::payload::{Payload, Task};
use crate::base::clock::Time;
use crate::base::rng::Stream;
use crate::model::release::Release;
use crate::model::resources::CLUSTER_OPERATORS;
use crate::model::{Object, View, Write};

/// What one manifest costs under the operator's client limit of 20 requests a second.
const MANIFEST: SignedDuration = SignedDuration::from_millis(50);
/// Manifests that need nothing done are taken together up to this long, so that a pass costs what happens in it.
const STRIDE: SignedDuration = SignedDuration::from_secs(10);
/// Waits before a refused manifest is tried again within a pass.
const RETRIES: [SignedDuration; 2] = [SignedDuration::from_secs(10), SignedDuration::from_secs(13)];

/// In which frame of mind the payload is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// From one release to another: run levels in order.
    Updating,
    /// Keeping what is there.
    Reconciling,
}

/// What the loop works on.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The release.
    pub(super) release: Release,
    /// Generation of the ClusterVersion that asked for it.
    pub(super) generation: i64,
    /// `spec.desiredUpdate.force`.
    pub(super) force: bool,
    /// Whether its signature was verified by this process.
    pub(super) verified: bool,
    /// Risks accepted for it; `None` for a local payload.
    pub(super) accepted_risks: Option<String>,
}

/// How far the loop is.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// Manifests done in the pass that is reported.
    pub(super) done: u32,
    /// Manifests in all.
    pub(super) total: u32,
    /// Passes completed since the work began.
    pub(super) completed: u32,
    /// Why the last pass failed, or this one will.
    pub(super) failure: Option<Failure>,
}

/// The loop.
#[derive(Debug)]
pub(super) struct ApplyLoop {
    pub(super) work: Work,
    pub(super) mode: Mode,
    pub(super) progress: Progress,
    pub(super) watches: Watches,
    payload: Payload,
    version: String,
    /// Objects that were found as the payload wants them, by node and task: seen again, they need no second look.
    settled: BTreeMap<(usize, usize), Object>,
    pass: Option<Pass>,
    interval: SignedDuration,
    next_pass_at: Time,
    errors: u32,
    jitter: Stream,
}

/// One pass: where it stands.
#[derive(Debug, Default)]
struct Pass {
    node: usize,
    task: usize,
    ready_at: Time,
    tries: usize,
    waiting: bool,
    skip_node: bool,
    /// Manifests done, and those that are until `ready_at`.
    done: u32,
    under_way: u32,
    failures: Vec<Failure>,
}

/// What a task needs at this moment.
enum Need {
    /// Nothing but the time of this many manifests.
    Time(u32),
    /// A write.
    Write(Box<Write>),
    /// Something that is not so yet: its component cannot go on.
    Wait(Failure),
}

impl ApplyLoop {
    /// Begins to work; the first pass starts at once.
    pub(super) fn new(
        work: Work,
        mode: Mode,
        feature_set: &str,
        interval: SignedDuration,
        jitter: Stream,
        now: Time,
    ) -> Self {
        let payload = Payload::load(&work.release, feature_set);
        let progress = Progress { total: payload.total, ..Progress::default() };
        let version = work.release.version.to_string();
        Self {
            work,
            mode,
            progress,
            watches: Watches::default(),
            payload,
            version,
            settled: BTreeMap::new(),
            pass: None,
            interval,
            next_pass_at: now,
            errors: 0,
            jitter,
        }
    }

    /// When it wants to go on; `None` while an answer is awaited.
    pub(super) fn wake_at(&self) -> Option<Time> {
        match &self.pass {
            Some(pass) if pass.waiting => None,
            Some(pass) => Some(pass.ready_at),
            None => Some(self.next_pass_at),
        }
    }

    /// A ClusterOperator changed in a way that may let a failed pass succeed: ends the wait before the next pass.
    pub(super) fn notify(&mut self, now: Time) {
        if self.pass.is_none() && self.errors > 0 {
            self.next_pass_at = now;
        }
    }

    /// Goes on as far as it can at this moment; true when there is something new to report.
    pub(super) fn run(
        &mut self,
        view: &View,
        capabilities: &Capabilities,
        now: Time,
        out: &mut Outbox,
    ) -> bool {
        if self.pass.is_none() && self.next_pass_at <= now {
            self.pass = Some(Pass { ready_at: now, ..Pass::default() });
        }
        let mut news = false;
        while let Some(pass) = &self.pass {
            if pass.waiting || pass.ready_at > now {
                break;
            }
            news |= self.advance(view, capabilities, now, out);
        }
        news
    }

    /// Takes the answer to a manifest's write in.
    pub(super) fn answered(&mut self, outcome: Result<(), &crate::model::Refusal>, now: Time) {
        let total = self.payload.total;
        let Some(pass) = self.pass.as_mut() else { return };
        pass.waiting = false;
        match outcome {
            Ok(()) => {
                let written = &self.payload.nodes[pass.node].tasks[pass.task];
                pass.task += 1;
                let manifests = written.manifests();
                self.depart(manifests, now);
            }
            Err(refusal) => match RETRIES.get(pass.tries) {
                Some(wait) => {
                    pass.tries += 1;
                    pass.ready_at = now + *wait;
                }
                None => {
                    let name = task_name(&self.payload.nodes[pass.node].tasks[pass.task]);
                    let failure = Failure::of_refusal(&name, pass.done + 1, total, refusal);
                    self.node_failed(failure, now);
                }
            },
        }
    }

    /// Goes on to the next task that needs more than time, or ends the pass.
    fn advance(&mut self, view: &View, capabilities: &Capabilities, now: Time, out: &mut Outbox) -> bool {
        self.arrive();
        let mut manifests = 0;
        loop {
            let Some(place) = self.next_task(capabilities) else {
                if manifests == 0 {
                    return self.end_pass(now);
                }
                break;
            };
            let need = self.need(place, view);
            if let Task::Precreate(operator) = &self.payload.nodes[place.0].tasks[place.1] {
                // Its clock runs from the first attempt to have it, not from when it is waited for.
                self.watches.start(operator["metadata"]["name"].as_str().unwrap_or_default(), now);
            }
            let Some(pass) = self.pass.as_mut() else { return false };
            match need {
                Need::Time(count) => {
                    manifests += count;
                    pass.task += 1;
                }
                // What needs more comes up when the manifests before it are done.
                Need::Write(_) | Need::Wait(_) if manifests > 0 => break,
                Need::Write(write) => {
                    pass.waiting = true;
                    out.push(Purpose::Apply, *write);
                    return true;
                }
                Need::Wait(failure) => {
                    for operator in &failure.operators {
                        self.watches.start(operator, now);
                    }
                    self.node_failed(failure, now);
                }
            }
            if took(manifests) >= STRIDE {
                break;
            }
        }
        self.depart(manifests, now);
        true
    }

    /// Where the next task stands; `None` at the end of the pass, which comes early when a run level has failures.
    fn next_task(&mut self, capabilities: &Capabilities) -> Option<(usize, usize)> {
        let pass = self.pass.as_mut()?;
        loop {
            let node = self.payload.nodes.get(pass.node)?;
            let before = pass.node.checked_sub(1).map(|index| self.payload.nodes[index].run_level);
            let begins_level = before.is_some_and(|level| level != node.run_level);
            if begins_level && !pass.failures.is_empty() && self.mode == Mode::Updating {
                return None;
            }
            if !pass.skip_node && pass.task < node.tasks.len() && capabilities.include(&node.component) {
                return Some((pass.node, pass.task));
            }
            (pass.node, pass.task, pass.skip_node) = (pass.node + 1, 0, false);
        }
    }

    /// What a task needs.
    fn need(&mut self, place: (usize, usize), view: &View) -> Need {
        let task = &self.payload.nodes[place.0].tasks[place.1];
        match task {
            Task::Counted(count) => Need::Time(*count),
            Task::Object(resource, wanted) => {
                let existing = existing(view, resource, wanted);
                let seen = self.settled.get(&place).zip(existing).is_some_and(|(a, b)| a.is_same(b));
                let write = if seen { None } else { write_for(existing, resource, wanted) };
                if let Some(write) = write {
                    return Need::Write(Box::new(write));
                }
                self.settled.extend(existing.map(|object| (place, object.clone())));
                Need::Time(1)
            }
            Task::Precreate(wanted) => match existing(view, &CLUSTER_OPERATORS, wanted) {
                Some(_) => Need::Time(0),
                None => Need::Write(Box::new(Write::create(&CLUSTER_OPERATORS, (**wanted).clone()))),
            },
            Task::ClusterOperator(operator) => match operators::judge(view, operator, &self.version) {
                Ok(()) => {
                    self.watches.stop(&operator.cluster_operator);
                    Need::Time(1)
                }
                Err(failure) => Need::Wait(failure),
            },
        }
    }

    /// Sets out on this many manifests.
    fn depart(&mut self, manifests: u32, now: Time) {
        if let Some(pass) = self.pass.as_mut() {
            pass.under_way = manifests;
            pass.tries = 0;
            pass.ready_at = now + took(manifests);
        }
    }

    /// Counts the manifests that were under way.
    fn arrive(&mut self) {
        let Some(pass) = self.pass.as_mut() else { return };
        pass.done += std::mem::take(&mut pass.under_way);
        // A pass that follows a failed one is not reported until it gets further than that one did.
        if self.progress.failure.is_none() || pass.done > self.progress.done {
            self.progress.done = pass.done;
            self.progress.failure = None;
        }
    }

    fn node_failed(&mut self, failure: Failure, now: Time) {
        if let Some(pass) = self.pass.as_mut() {
            pass.failures.push(failure);
            pass.skip_node = true;
            pass.tries = 0;
            pass.ready_at = now;
        }
    }

    fn end_pass(&mut self, now: Time) -> bool {
        let Some(pass) = self.pass.take() else { return false };
        let failure = failure::merge(pass.failures);
        if failure.is_some() {
            self.errors += 1;
            self.progress.completed = 0;
            let share = 1i32 << self.errors.min(4);
            let jitter = 1.0 + 0.2 * self.jitter.fraction();
            self.next_pass_at = now + (self.interval * share / 16).mul_f64(jitter);
        } else {
            self.errors = 0;
            self.progress.done = pass.done;
            self.progress.completed += 1;
            self.mode = Mode::Reconciling;
            self.next_pass_at = now + self.interval;
        }
        self.progress.failure = failure;
        true
    }
}

/// How long this many manifests take.
fn took(manifests: u32) -> SignedDuration {
    MANIFEST * i32::try_from(manifests).unwrap_or(i32::MAX)
}

/// `kind "namespace/name"` as error messages name a manifest.
fn task_name(task: &Task) -> String {
    let (resource, object) = match task {
        Task::Object(resource, object) => (resource, object),
        Task::Precreate(object) => (&CLUSTER_OPERATORS, object),
        Task::Counted(_) | Task::ClusterOperator(_) => return String::new(),
    };
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let place = match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    };
    format!("{} \"{place}\"", resource.kind.to_lowercase())
}
