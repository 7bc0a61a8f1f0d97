//! The work queue of controllers: objects to reconcile now, later, or when their writes are answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::EVENTS;
use windtunnel_core::{Answer, Key, Object, Operation, View, Write};

use super::event_log::EventLog;
use super::{Input, Step, marks};

/// The delay of a retry after another client changed or deleted the object.
const CONFLICT_PAUSE: SignedDuration = SignedDuration::from_millis(100);

/// The delay of a retry after any other rejection.
pub(crate) const REFUSAL_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// The work of a controller, by object ("subject").
///
/// A subject with unanswered writes is not handed out. Reconciling it before the view contains those writes
/// would repeat them.
#[derive(Debug, Clone, Default)]
pub struct WorkQueue {
    dirty: BTreeSet<Key>,
    later: BTreeMap<Key, Time>,
    unanswered: VecDeque<Key>,
    /// The last update of a subject that changed nothing, which is not repeated. An API server that is older
    /// than the controller drops unknown fields.
    fruitless: BTreeMap<Key, Write>,
}

impl WorkQueue {
    /// Schedules `subject` for now.
    pub fn add(&mut self, subject: Key) {
        self.dirty.insert(subject);
    }

    /// Schedules `subject` for `at`, replacing an earlier schedule.
    pub fn add_at(&mut self, subject: Key, at: Time) {
        self.later.insert(subject, at);
    }

    /// Schedules `subject` for `at`, or keeps an earlier schedule.
    pub fn add_by(&mut self, subject: Key, at: Time) {
        let due = self.later.entry(subject).or_insert(at);
        *due = (*due).min(at);
    }

    /// Shifts all schedules when the clock is set.
    pub fn shift_times(&mut self, by: SignedDuration) {
        self.later.values_mut().for_each(|at| *at = after(*at, by));
    }

    /// Adds `write` on behalf of `subject`.
    pub fn send(&mut self, subject: &Key, write: Write, writes: &mut Vec<Write>) {
        self.unanswered.push_back(subject.clone());
        writes.push(write);
    }

    /// Processes answers and returns the rejections, each with the subject of its write.
    pub fn process_answers<'a>(&mut self, answers: &'a [Answer], now: Time) -> Vec<(Key, &'a Answer)> {
        let mut answered = self.settle_answers(answers, now);
        answered.retain(|(_, answer)| answer.outcome.is_err());
        answered
    }

    /// Processes answers and returns those that are not about Events, each with the subject of its write.
    pub fn settle_answers<'a>(&mut self, answers: &'a [Answer], now: Time) -> Vec<(Key, &'a Answer)> {
        let mut settled = Vec::new();
        for answer in answers {
            let Some(subject) = self.unanswered.pop_front() else { break };
            // The controller does not react to its own Events, and it does not retry rejected ones.
            if answer.write.resource == EVENTS {
                continue;
            }
            settled.push((subject.clone(), answer));
            match &answer.outcome {
                Ok(object) => {
                    if changed_nothing(&answer.write, object) {
                        self.fruitless.insert(subject.clone(), answer.write.clone());
                    }
                    self.add(subject);
                }
                Err(rejection) => {
                    // A creation is answered with 404 if its namespace or its kind does not exist.
                    let raced = match rejection.code {
                        409 => true,
                        404 => answer.write.verb() != "create",
                        _ => false,
                    };
                    if raced { marks::CONFLICT_RETRIED } else { marks::REJECTION_RETRIED }.reach();
                    let pause = if raced { CONFLICT_PAUSE } else { REFUSAL_PAUSE };
                    self.add_at(subject, now + pause);
                }
            }
        }
        settled
    }

    /// Removes and returns the subjects that are due, in order.
    pub fn take_due(&mut self, now: Time) -> Vec<Key> {
        let due: BTreeSet<Key> = self
            .later
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(subject, _)| subject)
            .chain(&self.dirty)
            .filter(|subject| !self.unanswered.contains(subject))
            .cloned()
            .collect();
        for subject in &due {
            self.dirty.remove(subject);
            self.later.remove(subject);
        }
        due.into_iter().collect()
    }

    /// Whether the same `write` for `subject`, on the same version of its object, has changed nothing before.
    fn is_without_effect(&mut self, subject: &Key, write: &Write) -> bool {
        match self.fruitless.get(subject) {
            Some(made) if made == write => {
                marks::UPDATE_WITHOUT_EFFECT.reach();
                true
            }
            Some(_) => {
                self.fruitless.remove(subject);
                false
            }
            None => false,
        }
    }

    /// Removes `subject` from the queue.
    pub fn forget(&mut self, subject: &Key) {
        self.fruitless.remove(subject);
        self.dirty.remove(subject);
        self.later.remove(subject);
    }

    /// Some subject that is scheduled for later.
    pub fn waiting(&self) -> Option<&Key> {
        self.later.keys().next()
    }

    /// The time when the next subject is due. Subjects with unanswered writes are due with the answer
    /// instead.
    pub fn next(&self) -> Option<Time> {
        self.later.iter().filter(|(subject, _)| !self.unanswered.contains(subject)).map(|(_, at)| *at).min()
    }
}

/// Whether an update left the `resourceVersion` of its object unchanged.
fn changed_nothing(write: &Write, after: &Object) -> bool {
    let Operation::Update(object) = &write.operation else { return false };
    object["metadata"]["resourceVersion"].as_str().is_some_and(|version| version == after.resource_version())
}

/// A controller that reconciles one subject at a time.
pub trait Reconcile {
    /// Its work queue.
    fn queue(&mut self) -> &mut WorkQueue;

    /// Reconciles one subject and returns the writes on its behalf.
    fn sync(&mut self, subject: &Key, view: &View, now: Time) -> Vec<Write>;

    /// The Events to record after each step.
    fn events(&mut self) -> Option<&mut EventLog> {
        None
    }

    /// Reconciles all due subjects and schedules the next step.
    fn reconcile(&mut self, input: &Input<'_>) -> Step {
        let mut step = Step::default();
        for subject in self.queue().take_due(input.now) {
            for write in self.sync(&subject, input.view, input.now) {
                if !self.queue().is_without_effect(&subject, &write) {
                    self.queue().send(&subject, write, &mut step.writes);
                }
            }
        }
        let events = self.events().map(|events| events.take(input.view, input.now));
        for (subject, write) in events.into_iter().flatten() {
            self.queue().send(&subject, write, &mut step.writes);
        }
        step.wake_at = self.queue().next();
        step
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windtunnel_core::resources::PODS;
    use windtunnel_core::{Change, ChangeKind, Rejection};

    use super::*;

    #[test]
    fn a_subject_waits_for_its_answer_and_longer_after_a_rejection() {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let (mut queue, mut writes) = (WorkQueue::default(), Vec::new());
        let pod = PODS.key("ns", "a");
        queue.send(&pod, Write::delete(&PODS, "ns", "a"), &mut writes);
        queue.add(pod.clone());
        assert!(queue.take_due(now).is_empty());
        let write = writes.remove(0);
        let fine = Answer { write: write.clone(), outcome: Ok(Object::new(json!({}))) };
        queue.process_answers(&[fine], now);
        assert_eq!(queue.take_due(now), std::slice::from_ref(&pod));

        let event = Write::create(&EVENTS, json!({ "metadata": { "namespace": "ns", "name": "e" } }));
        queue.send(&pod, event.clone(), &mut writes);
        queue.add_at(pod.clone(), now + CONFLICT_PAUSE);
        queue.process_answers(&[Answer { write: event, outcome: Ok(Object::new(json!({}))) }], now);
        assert!(queue.take_due(now).is_empty(), "its earlier schedule is unchanged");
        assert_eq!(queue.take_due(now + CONFLICT_PAUSE), std::slice::from_ref(&pod));

        queue.send(&pod, write.clone(), &mut writes);
        let rejection =
            Rejection { code: 503, reason: String::new(), message: String::new(), details: Value::Null };
        assert_eq!(queue.process_answers(&[Answer { write, outcome: Err(rejection) }], now).len(), 1);
        assert!(queue.take_due(now).is_empty());
        assert_eq!(queue.next(), Some(now + REFUSAL_PAUSE));
    }

    /// A controller that sets a label on a pod.
    struct Labeller(WorkQueue);

    impl Reconcile for Labeller {
        fn queue(&mut self) -> &mut WorkQueue {
            &mut self.0
        }

        fn sync(&mut self, subject: &Key, view: &View, _: Time) -> Vec<Write> {
            let pod = view.get_key(subject).filter(|pod| pod.label("a").is_none());
            let labelled = pod.map(|pod| {
                let mut pod = pod.to_value();
                pod["metadata"]["labels"] = json!({ "a": "b" });
                Write::update(&PODS, pod)
            });
            labelled.into_iter().collect()
        }
    }

    #[test]
    fn an_update_without_effect_is_sent_once_per_resource_version() {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let mut labeller = Labeller(WorkQueue::default());
        let pod = |version: &str| {
            let metadata = json!({ "namespace": "ns", "name": "a", "resourceVersion": version });
            Object::new(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata }))
        };
        let mut reconcile = |version: &str, answers: &[Answer]| {
            let mut view = View::default();
            let (key, object) = (PODS.key("ns", "a"), pod(version));
            view.apply(&Change { key: key.clone(), kind: ChangeKind::Added, object, old: None });
            labeller.queue().process_answers(answers, now);
            labeller.queue().add(key);
            let input = Input {
                view: &view,
                changes: &[],
                answers: &[],
                signals: &[],
                alerts: &[],
                counters: &[],
                now,
                clock_shift: SignedDuration::ZERO,
            };
            labeller.reconcile(&input).writes
        };
        let mut writes = reconcile("1", &[]);
        let answer = Answer { write: writes.remove(0), outcome: Ok(pod("1")) };
        assert!(reconcile("1", &[answer]).is_empty(), "the update had no effect");
        assert_eq!(reconcile("2", &[]).len(), 1, "another client changed the pod");
    }

    #[test]
    fn a_create_answered_404_is_retried_late_and_a_conflict_soon() {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        let pause = |write: Write, code| {
            let (mut queue, mut writes) = (WorkQueue::default(), Vec::new());
            queue.send(&PODS.key("ns", "a"), write.clone(), &mut writes);
            let rejection =
                Rejection { code, reason: String::new(), message: String::new(), details: Value::Null };
            queue.process_answers(&[Answer { write, outcome: Err(rejection) }], now);
            queue.next()
        };
        let create = || Write::create(&PODS, json!({ "metadata": { "namespace": "ns", "name": "a" } }));
        assert_eq!(pause(create(), 404), Some(now + REFUSAL_PAUSE));
        assert_eq!(pause(create(), 409), Some(now + CONFLICT_PAUSE));
        assert_eq!(pause(Write::delete(&PODS, "ns", "a"), 404), Some(now + CONFLICT_PAUSE));
    }
}
