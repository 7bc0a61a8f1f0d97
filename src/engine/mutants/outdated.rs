//! Mutants that see the changes of other clients too late, like a client with an outdated cache.

use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Change, Key, View};

use super::memory::due;
use super::mutant::{Mutant, MutantKind};
use super::mutant_state::State;

impl State {
    /// Decides whether a change of the cluster is kept from the component.
    pub(super) fn withholds(&mut self, change: &Change, now: Time) -> bool {
        let Some(Mutant { kind, how: MutantKind::Outdated, .. }) = self.active() else {
            return false;
        };
        if change.object.text("/kind") != kind || self.unseen.known.contains(&change.key) {
            return false;
        }
        self.unseen.since.entry(change.key.clone()).or_insert(now);
        true
    }

    /// Returns whether the component has not seen the last state of an object.
    pub(super) fn is_withheld(&self, key: &Key) -> bool {
        self.unseen.since.contains_key(key)
    }

    /// When the component sees an object as it is.
    pub(super) fn reveals_at(&self, key: &Key) -> Option<Time> {
        self.unseen.since.get(key).map(|since| due(*since))
    }

    /// Shows the component the objects that are due now.
    pub(super) fn reveal_due(&mut self, real: &View, now: Time) {
        let is_due = |since: &Time| due(*since) <= now;
        let keys: Vec<Key> =
            self.unseen.since.iter().filter(|(_, since)| is_due(since)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.reveal(key, real);
        }
    }

    /// Shows the component the objects that it wrote. A rejected write makes it read the object again.
    pub(super) fn reveal_written(&mut self, answers: &[Answer], real: &View) {
        if !matches!(self.active(), Some(Mutant { how: MutantKind::Outdated, .. })) {
            return;
        }
        for answer in answers {
            let name = answer.outcome.as_ref().map_or(answer.write.name.as_str(), |object| object.name());
            let key = Key { name: name.to_owned(), ..answer.write.key() };
            self.reveal(key, real);
        }
    }

    fn reveal(&mut self, key: Key, real: &View) {
        if self.unseen.since.remove(&key).is_some() {
            self.refresh(&key, real);
        }
        self.unseen.known.insert(key);
    }
}
