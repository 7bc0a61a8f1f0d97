//! The insights of one informer: how they stay as they were, and what must be written so that the ConfigMap has them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::settle::settle;
use crate::base::yaml::{self, YamlError};
use crate::model::insight::Insight;

/// An insight and its text in the ConfigMap.
#[derive(Debug)]
struct Known {
    insight: Insight,
    text: String,
}

/// The insights of one informer, under the data keys that they are published as.
#[derive(Debug)]
pub(super) struct Informer {
    /// What its keys begin with. Every such key belongs to it.
    prefix: &'static str,
    /// `None` before the first assessment.
    known: Option<BTreeMap<String, Known>>,
    /// Whether the ConfigMap was seen to have all that is known.
    published: bool,
}

impl Informer {
    /// One whose keys begin with `prefix`.
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, known: None, published: false }
    }

    /// Takes over, once, what an earlier process left in the ConfigMap's data: its times go on.
    pub(super) fn begin(&mut self, data: Option<&BTreeMap<String, String>>) {
        let prefix = self.prefix;
        let read = |(key, text): (&String, &String)| {
            let insight: Insight = yaml::from_str(text).ok()?;
            let is_its_own = key.strip_prefix(prefix)? == insight.uid;
            is_its_own.then(|| (key.clone(), Known { insight, text: text.clone() }))
        };
        self.known.get_or_insert_with(|| data.into_iter().flatten().filter_map(read).collect());
    }

    /// The insight of this uid.
    pub(super) fn get(&self, uid: &str) -> Option<&Insight> {
        self.known.as_ref()?.get(&self.key(uid)).map(|known| &known.insight)
    }

    /// Makes `fresh` all that it knows.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML; the others are known all the same.
    pub(super) fn replace(&mut self, fresh: impl IntoIterator<Item = Insight>) -> Result<(), YamlError> {
        let mut earlier = self.known.take().unwrap_or_default();
        self.published = false;
        let mut known = BTreeMap::new();
        let mut outcome = Ok(());
        for insight in fresh {
            let key = self.key(&insight.uid);
            match keep(insight, earlier.remove(&key)) {
                Ok(entry) => drop(known.insert(key, entry)),
                Err(error) => outcome = Err(error),
            }
        }
        self.known = Some(known);
        outcome
    }

    /// Learns what `fresh` says.
    ///
    /// # Errors
    /// It cannot be written as YAML.
    pub(super) fn put(&mut self, fresh: Insight) -> Result<(), YamlError> {
        let key = self.key(&fresh.uid);
        let known = self.known.get_or_insert_default();
        let entry = keep(fresh, known.remove(&key))?;
        known.insert(key, entry);
        self.published = false;
        Ok(())
    }

    /// Forgets the insight of this uid.
    pub(super) fn remove(&mut self, uid: &str) {
        let key = self.key(uid);
        if self.known.as_mut().is_some_and(|known| known.remove(&key).is_some()) {
            self.published = false;
        }
    }

    /// Doubts that the ConfigMap has what is known.
    pub(super) fn doubt(&mut self) {
        self.published = false;
    }

    /// Adds what must change in the ConfigMap's data so that it has what is known, as far as `room` bytes suffice for that.
    /// Keys of others are nobody's business here, and before the first assessment nothing is.
    pub(super) fn changes(
        &mut self,
        data: &BTreeMap<String, String>,
        room: usize,
        changes: &mut Map<String, Value>,
    ) {
        let Some(known) = self.known.as_ref().filter(|_| !self.published) else { return };
        let left_out = left_out(known, room);
        let before = changes.len();
        for (key, known) in known.iter().filter(|(key, _)| !left_out.contains(key.as_str())) {
            if data.get(key) != Some(&known.text) {
                changes.insert(key.clone(), json!(known.text));
            }
        }
        let own = data.range(self.prefix.to_owned()..).take_while(|(key, _)| key.starts_with(self.prefix));
        for (key, _) in own.filter(|(key, _)| !known.contains_key(*key) || left_out.contains(key.as_str())) {
            changes.insert(key.clone(), Value::Null);
        }
        self.published = changes.len() == before;
    }

    /// How many bytes all texts take.
    pub(super) fn size(&self) -> usize {
        self.known.iter().flat_map(BTreeMap::values).map(|known| known.text.len()).sum()
    }

    /// Whether a data key is one of its own.
    pub(super) fn owns(&self, key: &str) -> bool {
        key.starts_with(self.prefix)
    }

    fn key(&self, uid: &str) -> String {
        format!("{}{uid}", self.prefix)
    }
}

/// The keys of what does not fit into `room` bytes: first of all insights with nothing to tell, and the last by name.
fn left_out(known: &BTreeMap<String, Known>, room: usize) -> BTreeSet<&str> {
    let size: usize = known.values().map(|known| known.text.len()).sum();
    let mut excess = size.saturating_sub(room);
    if excess == 0 {
        return BTreeSet::new();
    }
    let mut order: Vec<_> = known.iter().rev().collect();
    order.sort_by_key(|(_, known)| known.insight.detail.is_remarkable());
    let mut left_out = BTreeSet::new();
    for (key, known) in order {
        if excess == 0 {
            break;
        }
        excess = excess.saturating_sub(known.text.len());
        left_out.insert(key.as_str());
    }
    left_out
}

/// The insight as it is to be published; one that did not change keeps its text.
fn keep(fresh: Insight, before: Option<Known>) -> Result<Known, YamlError> {
    let insight = match &before {
        Some(before) => settle(fresh, &before.insight),
        None => fresh,
    };
    match before {
        Some(before) if before.insight == insight => Ok(before),
        _ => yaml::to_string(&insight).map(|text| Known { insight, text }),
    }
}

#[cfg(test)]
mod tests;
