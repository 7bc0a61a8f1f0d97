//! Mutants that write an old value again: a late request, or a second process with an outdated cache.

use windtunnel_core::clock::Time;
use windtunnel_core::{Operation, View, Write, patch};

use super::memory::{Noted, Return};
use super::mutant_state::State;
use super::place::Place;

impl State {
    /// Remembers the value that a write replaces, if it is the first of its object.
    pub(super) fn note_return(&mut self, by: &str, write: &Write, place: &Place, real: &View, now: Time) {
        let key = write.key();
        self.forget(&key, real);
        let Some(before) = real.get_key(&key) else { return };
        let Some(intended) = self.intended(write, &key, Some(before)) else { return };
        let Some(old) = place.get(before).filter(|old| place.get(&intended) != Some(old)) else { return };
        let new = || Return {
            uid: before.uid().to_owned(),
            by: by.to_owned(),
            write: write.clone(),
            place: place.clone(),
            old: old.clone(),
            replaced: now,
            is_over: false,
        };
        self.returns.0.entry(key).or_insert_with(new);
    }

    /// Takes the writes of an actor's old values that are due now. The component believes that its own values
    /// are still there.
    pub(super) fn take_returns(&mut self, by: &str, real: &View, now: Time) -> Vec<Write> {
        let mut writes = Vec::new();
        while let Some((key, one)) = self.returns.take(by, now) {
            let Some(object) = real.get_key(&key).filter(|object| object.uid() == one.uid) else { continue };
            let meant = one.place.get(object).cloned();
            if meant.as_ref() == Some(&one.old) {
                continue;
            }
            let mut value = object.to_value();
            one.place.set(&mut value, Some(one.old.clone()));
            let operation = match &one.write.operation {
                Operation::MergePatch(_) => {
                    Operation::MergePatch(patch::between(object, &value).unwrap_or_default())
                }
                _ => Operation::Update(value),
            };
            writes.push(Write { operation, ..one.write.clone() });
            self.observed.hits += 1;
            let (uid, by, write, place) =
                (one.uid.clone(), one.by.clone(), one.write.clone(), one.place.clone());
            self.note(&key, Noted { uid, by, write, place, left: Some(one.old.clone()), meant }, real);
            self.returns.0.insert(key, Return { is_over: true, ..one });
        }
        writes
    }
}
