//! The state of a mutant in one run: what it changed, and what its component believes instead.
//!
//! A controller that saw its altered write would repeat it at once, and the run would not get anywhere. So the
//! component sees the cluster as if its writes had been stored unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, ChangeKind, Key, Object, Operation, Rejection, View, Write, patch};

use super::memory::{Noted, Returns, Unseen, due};
use super::mutant::{Mutant, MutantKind, Request, altered};
use super::place::Place;
use crate::engine::observer::Observer;

/// A handle to the state. The simulation and its wrapped actors share it, so a simulation with one must not be
/// copied.
#[derive(Clone)]
pub(in crate::engine) struct MutantState(Arc<Mutex<State>>);

/// Facts about the run of the wrapped components.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Observed {
    /// The number of turns of each component.
    pub(in crate::engine) turns: BTreeMap<String, u64>,
    /// The components with the kinds and the API groups of the objects whose changes woke them.
    pub(in crate::engine) woken_by: BTreeSet<(String, String, String)>,
    /// How often the mutant changed something.
    pub(in crate::engine) hits: u64,
    /// Why the API server rejected a changed write.
    pub(in crate::engine) rejection: Option<String>,
    /// Whether the mutant took more turns than it may.
    pub(in crate::engine) is_endless: bool,
}

pub(in crate::engine) struct State {
    mutant: Option<Mutant>,
    /// Whether the run has begun. Mutants leave the installation alone.
    is_active: bool,
    turns_max: u64,
    pub(in crate::engine) observed: Observed,
    /// The cluster as the component believes it to be; `None` as long as that is the real one.
    shadow: Option<View>,
    notes: BTreeMap<Key, Noted>,
    /// Objects that the component believes to be gone, with their uids.
    gone: BTreeMap<Key, String>,
    /// When a late value was first due to be written.
    first_late: BTreeMap<(Key, Place), Time>,
    pub(super) returns: Returns,
    pub(super) unseen: Unseen,
    /// The actors that had a false answer.
    pub(super) misinformed: BTreeSet<String>,
    pub(in crate::engine) insights: InsightState,
}

/// The memory of a mutant of the update status controller.
#[derive(Debug, Default)]
pub(in crate::engine) struct InsightState {
    /// The status of the UpdateStatus as the controller means it; `None` before it was read.
    pub(in crate::engine) meant: Option<Value>,
    /// The first published values, by uid.
    pub(in crate::engine) first: BTreeMap<(String, Place), Option<Value>>,
}

/// A write of the component after the mutant had it.
pub(in crate::engine) enum Passed {
    /// To be made.
    Made(Write),
    /// To be made as it is, twice.
    Twice,
    /// To be made as it is; the component does not learn the outcome.
    Unanswered,
    /// Not to be made; the component gets this answer.
    Skipped(Result<Object, Rejection>),
}

/// Returns the component that an actor is an instance of: `kubelet` of `kubelet/worker-0`.
pub(in crate::engine) fn component(actor: &str) -> &str {
    actor.split('/').next().unwrap_or(actor)
}

impl MutantState {
    /// Creates the state of a mutant that may take this number of turns; without one, components are only observed.
    pub(in crate::engine) fn new(mutant: Option<Mutant>, turns_max: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            mutant,
            is_active: false,
            turns_max,
            observed: Observed::default(),
            shadow: None,
            notes: BTreeMap::new(),
            gone: BTreeMap::new(),
            first_late: BTreeMap::new(),
            returns: Returns::default(),
            unseen: Unseen::default(),
            misinformed: BTreeSet::new(),
            insights: InsightState::default(),
        })))
    }

    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the mutant in a cluster.
    pub(in crate::engine) fn activate(&self, cluster: &View) {
        let mut state = self.lock();
        state.is_active = true;
        if matches!(state.active(), Some(Mutant { how: MutantKind::Outdated, .. })) {
            state.shadow = Some(cluster.clone());
        }
    }
}

impl Observer for MutantState {
    /// Takes a change of the cluster into what the component believes.
    fn on_change(&mut self, change: &Change, _: &View, now: Time) {
        let mut state = self.lock();
        if state.withholds(change, now) {
            return;
        }
        if let Some(change) = state.believed(change)
            && let Some(shadow) = &mut state.shadow
        {
            shadow.apply(&change);
        }
    }
}

impl State {
    /// Returns the mutant, also before the run has begun.
    pub(in crate::engine) fn planned(&self) -> Option<&Mutant> {
        self.mutant.as_ref()
    }

    /// Returns the mutant, once the run has begun.
    pub(in crate::engine) fn active(&self) -> Option<&Mutant> {
        self.mutant.as_ref().filter(|_| self.is_active)
    }

    /// Counts a turn. Returns false if the mutant has taken too many.
    pub(in crate::engine) fn count_turn(&mut self, actor: &str, changes: &[Change]) -> bool {
        if !self.is_active {
            return true;
        }
        let component = component(actor);
        let turns = match self.observed.turns.get_mut(component) {
            Some(turns) => turns,
            None => self.observed.turns.entry(component.to_owned()).or_default(),
        };
        *turns += 1;
        let is_endless = self.mutant.is_some() && *turns > self.turns_max;
        self.observed.is_endless |= is_endless;
        if self.mutant.is_none() {
            for change in changes {
                let kind = change.object.text("/kind");
                let known = (component.to_owned(), kind.to_owned(), change.key.group.clone().into_owned());
                self.observed.woken_by.insert(known);
            }
        }
        !is_endless
    }

    /// Remembers the first write that the API server found invalid.
    pub(in crate::engine) fn note_rejections(&mut self, answers: &[Answer]) {
        let invalid = answers.iter().filter_map(|answer| answer.outcome.as_ref().err());
        let invalid = invalid.filter(|rejection| matches!(rejection.code, 400 | 422));
        if self.is_active
            && let Some(rejection) = { invalid }.next()
        {
            self.observed.rejection.get_or_insert(rejection.message.clone());
        }
    }

    /// Takes the cluster as the component believes it to be, for one turn; `None` if it is the real one.
    pub(in crate::engine) fn take_shadow(&mut self) -> Option<View> {
        self.shadow.take()
    }

    pub(in crate::engine) fn put_shadow(&mut self, shadow: Option<View>) {
        self.shadow = shadow;
    }

    /// Returns an object as the component believes it to be.
    pub(in crate::engine) fn believed_object(&self, key: &Key, object: &Object) -> Object {
        let Some(noted) = self.notes.get(key).filter(|noted| noted.is_about(object)) else {
            return object.clone();
        };
        if noted.place.get(object) != noted.left.as_ref() {
            return object.clone();
        }
        let mut value = object.to_value();
        noted.place.set(&mut value, noted.meant.clone());
        Object::new(value)
    }

    /// Returns a change as the component sees it; `None` if it believes the object to be gone.
    pub(in crate::engine) fn believed(&self, change: &Change) -> Option<Change> {
        let is_gone = self.gone.get(&change.key).is_some_and(|uid| uid == change.object.uid());
        if is_gone && change.kind != ChangeKind::Deleted {
            return None;
        }
        let believed = |object: &Object| self.believed_object(&change.key, object);
        let (object, old) = (believed(&change.object), change.old.as_ref().map(believed));
        Some(Change { key: change.key.clone(), kind: change.kind, object, old })
    }

    /// Changes a write of the component as its mutant does. `real` is the cluster.
    pub(in crate::engine) fn pass(&mut self, by: &str, write: Write, real: &View, now: Time) -> Passed {
        let Some(mutant) = self.active().cloned() else { return Passed::Made(write) };
        let is_eviction = write.subresource == Some("eviction");
        if write.resource.kind != mutant.kind.as_str() {
            return Passed::Made(write);
        }
        match (&mutant.how, &write.operation) {
            (MutantKind::Skipped(Request::Evict), Operation::Create(_)) if is_eviction => {
                self.skip(write, real)
            }
            (MutantKind::Skipped(Request::Create), Operation::Create(_)) if write.subresource.is_none() => {
                self.skip(write, real)
            }
            (MutantKind::Skipped(Request::Delete), Operation::Delete(_)) => self.skip(write, real),
            (MutantKind::NeverUpdated(place) | MutantKind::Late(place) | MutantKind::Altered(place), _) => {
                let changed = self.tamper(by, &write, &mutant.how, place, real, now);
                Passed::Made(changed.unwrap_or(write))
            }
            (MutantKind::Returned(place), _) => {
                self.note_return(by, &write, place, real, now);
                Passed::Made(write)
            }
            (MutantKind::CreatedTwice, Operation::Create(_)) if write.name.is_empty() => {
                self.observed.hits += 1;
                Passed::Twice
            }
            (MutantKind::Answered(answer), _) => self.answer_falsely(by, *answer, write),
            _ => Passed::Made(write),
        }
    }

    /// Skips a write that creates or ends an object.
    fn skip(&mut self, write: Write, real: &View) -> Passed {
        let key = write.key();
        let shadow = self.shadow.get_or_insert_with(|| real.clone());
        if let (Operation::Create(object), None) = (&write.operation, write.subresource) {
            let mut object = object.clone();
            self.observed.hits += 1;
            object["metadata"]["uid"] = json!(format!("skipped-{}", self.observed.hits));
            if write.name.is_empty() {
                let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
                object["metadata"]["name"] = json!(format!("{prefix}{}", self.observed.hits));
            }
            let object = Object::new(object);
            let key = Key { name: object.name().to_owned(), ..key };
            shadow.apply(&Change { key, kind: ChangeKind::Added, object: object.clone(), old: None });
            return Passed::Skipped(Ok(object));
        }
        let Some(object) = shadow.get_key(&key).cloned() else { return Passed::Made(write) };
        self.observed.hits += 1;
        self.gone.insert(key.clone(), object.uid().to_owned());
        shadow.apply(&Change { key, kind: ChangeKind::Deleted, object: object.clone(), old: None });
        Passed::Skipped(Ok(object))
    }

    /// Returns the write with another value at `place`; `None` if the mutant does not change it.
    fn tamper(
        &mut self,
        by: &str,
        write: &Write,
        how: &MutantKind,
        place: &Place,
        real: &View,
        now: Time,
    ) -> Option<Write> {
        let key = write.key();
        let before = real.get_key(&key);
        let intended = self.intended(write, &key, before)?;
        let (old, meant) = (before.and_then(|before| place.get(before)), place.get(&intended));
        let left = match how {
            MutantKind::Altered(_) => meant.and_then(|meant| altered(place, meant)),
            MutantKind::Late(_) if meant != old => {
                let first = *self.first_late.entry((key.clone(), place.clone())).or_insert(now);
                if now < due(first) { old.cloned() } else { meant.cloned() }
            }
            _ => old.cloned(),
        };
        if left.as_ref() == meant || matches!(how, MutantKind::Altered(_)) && left.is_none() {
            self.forget(&key, real);
            return None;
        }
        self.observed.hits += 1;
        let mut changed = intended.clone();
        place.set(&mut changed, left.clone());
        let uid = before.map(|before| before.uid().to_owned()).unwrap_or_default();
        let operation = match (&write.operation, before) {
            (Operation::Create(_), _) => Operation::Create(changed),
            (Operation::MergePatch(_), Some(before)) => {
                Operation::MergePatch(patch::between(before, &changed).unwrap_or_else(|| json!({})))
            }
            _ => Operation::Update(changed),
        };
        let meant = meant.cloned();
        let changed = Write { operation, ..write.clone() };
        let (by, write, place) = (by.to_owned(), write.clone(), place.clone());
        self.note(&key, Noted { uid, by, write, place, left, meant }, real);
        Some(changed)
    }

    /// Remembers what the component believes about an object.
    pub(super) fn note(&mut self, key: &Key, noted: Noted, real: &View) {
        self.notes.insert(key.clone(), noted);
        self.refresh(key, real);
    }

    /// Shows the component an object as it is from now on.
    pub(super) fn forget(&mut self, key: &Key, real: &View) {
        if self.notes.remove(key).is_some() {
            self.refresh(key, real);
        }
    }

    /// Returns the object that a write would lead to, in the eyes of the component.
    pub(super) fn intended(&self, write: &Write, key: &Key, before: Option<&Object>) -> Option<Value> {
        match &write.operation {
            Operation::Create(object) | Operation::Update(object) => Some(object.clone()),
            Operation::MergePatch(patch) => {
                let mut object = self.believed_object(key, before?).to_value();
                json_patch::merge(&mut object, patch);
                Some(object)
            }
            Operation::JsonPatch(_) | Operation::Delete(_) => None,
        }
    }

    /// Shows the component an object of the real cluster as it believes it to be.
    pub(super) fn refresh(&mut self, key: &Key, real: &View) {
        let mut shadow = self.shadow.take().unwrap_or_else(|| real.clone());
        let (kind, object) = match real.get_key(key) {
            Some(object) => (ChangeKind::Modified, Some(self.believed_object(key, object))),
            None => (ChangeKind::Deleted, shadow.get_key(key).cloned()),
        };
        if let Some(object) = object {
            shadow.apply(&Change { key: key.clone(), kind, object, old: None });
        }
        self.shadow = Some(shadow);
    }

    /// When the mutant makes the next write itself, in the name of an actor.
    pub(in crate::engine) fn next_due(&self, by: &str) -> Option<Time> {
        let late = self.late_notes(by).filter_map(|(key, noted)| {
            self.first_late.get(&(key.clone(), noted.place.clone())).map(|first| due(*first))
        });
        late.chain(self.returns.next(by)).min()
    }

    /// Takes the writes that the mutant makes itself now, in the name of an actor.
    pub(in crate::engine) fn take_due(&mut self, by: &str, real: &View, now: Time) -> Vec<Write> {
        let mut writes = self.take_late(by, real, now);
        writes.extend(self.take_returns(by, real, now));
        writes
    }

    fn late_notes(&self, by: &str) -> impl Iterator<Item = (&Key, &Noted)> {
        let is_late = matches!(self.active(), Some(Mutant { how: MutantKind::Late(_), .. }));
        self.notes.iter().filter(move |(_, noted)| is_late && noted.by == by)
    }

    /// Takes the writes of an actor's values that were late and are due now.
    fn take_late(&mut self, by: &str, real: &View, now: Time) -> Vec<Write> {
        let is_due = |key: &Key, noted: &Noted| {
            self.first_late.get(&(key.clone(), noted.place.clone())).is_some_and(|first| due(*first) <= now)
        };
        let own = self.late_notes(by).filter(|(key, noted)| is_due(key, noted));
        let keys: Vec<Key> = own.map(|(key, _)| key.clone()).collect();
        let late = |key: Key| {
            let believed = self.believed_object(&key, real.get_key(&key)?);
            let noted = self.notes.remove(&key)?;
            let operation = match &noted.write.operation {
                Operation::MergePatch(_) => {
                    let patch = patch::between(real.get_key(&key)?, &believed)?;
                    Operation::MergePatch(patch)
                }
                _ => Operation::Update(believed.to_value()),
            };
            Some(Write { operation, ..noted.write })
        };
        keys.into_iter().filter_map(late).collect()
    }
}
