//! The insights of one informer: how they stay as they were, how they leave, and what must be written so that the
//! ConfigMap has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::yaml;
use windtunnel_core::yaml::YamlError;

use super::settle::settle;
use super::uid;
use super::update_status::Fitting;
use crate::insight::{Detail, ImpactLevel, Insight};

/// How long a health insight stays after its cause is gone: one that is back within this time goes on as if it had never
/// gone (`unknownInsightGracePeriod` of the upstream controller).
pub(super) const GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(60);

/// An insight and its text in the ConfigMap.
#[derive(Debug)]
struct Known {
    insight: Insight,
    text: String,
    /// The insight as the UpdateStatus takes it, once that was asked.
    fitting: OnceLock<Option<Fitting>>,
    /// When it leaves, if its cause is gone.
    leaves_at: Option<Time>,
}

impl Known {
    fn new(insight: Insight, text: String) -> Self {
        Self { insight, text, fitting: OnceLock::new(), leaves_at: None }
    }
}

/// The insights of one informer, under the data keys that they are published as.
#[derive(Debug)]
pub(super) struct Informer {
    /// Its name, as the API has it.
    pub(super) name: &'static str,
    /// What its keys begin with. Every such key belongs to it.
    prefix: String,
    /// `None` before the first assessment.
    known: Option<BTreeMap<String, Known>>,
    /// Keys in the order in which insights are told where room is short.
    order: BTreeSet<(Rank, String)>,
    /// How many bytes all texts take.
    size: usize,
    /// How many insights there are of each type that there ever was.
    counts: BTreeMap<&'static str, usize>,
    /// Insights that leave, by when.
    leaving: BTreeSet<(Time, String)>,
    /// Whether the ConfigMap was seen to have all that is known.
    published: bool,
    /// How many bytes it was last told to do with.
    room: usize,
    /// How often what is known changed.
    revision: u64,
}

/// How much an insight matters where room is short; the first matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// It tells of the control plane or of a pool as a whole: without it there is no telling where the update is.
    Whole,
    /// It tells of an operator, of which there are a few dozen.
    Operator,
    /// It tells of harm that is done.
    Harm,
    /// It tells of more than that something waits or is done.
    Remarkable,
    /// The other ones.
    Quiet,
}

impl Informer {
    /// The informer of this name.
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            prefix: format!("usc.{name}."),
            known: None,
            order: BTreeSet::new(),
            size: 0,
            counts: BTreeMap::new(),
            leaving: BTreeSet::new(),
            published: false,
            room: 0,
            revision: 0,
        }
    }

    /// How often what it knows changed.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Takes over, once, what an earlier process left in the ConfigMap's data: its times go on.
    pub(super) fn begin(&mut self, data: Option<&BTreeMap<String, String>>) {
        if self.known.is_some() {
            return;
        }
        self.published = false;
        self.known = Some(BTreeMap::new());
        for (key, text) in data.into_iter().flatten() {
            let Some(uid) = key.strip_prefix(&self.prefix) else { continue };
            let Ok(insight) = yaml::from_str::<Insight>(text) else { continue };
            if insight.uid == uid {
                self.insert(key.clone(), Known::new(insight, text.clone()));
            }
        }
    }

    /// Takes over, once, what an earlier process left in the UpdateStatus, where there is no ConfigMap.
    pub(super) fn adopt(&mut self, insights: Vec<Insight>) {
        if self.known.is_none() {
            self.published = false;
            self.known = Some(BTreeMap::new());
            for insight in insights {
                // One that cannot be written will not be published either.
                let _ = self.put(insight);
            }
        }
    }

    /// Whether it has assessed anything, or taken over what an earlier process left.
    pub(super) fn has_begun(&self) -> bool {
        self.known.is_some()
    }

    /// The insight of this uid.
    pub(super) fn get(&self, uid: &str) -> Option<&Insight> {
        self.known.as_ref()?.get(&self.key(uid)).map(|known| &known.insight)
    }

    /// Since when the health insight of this uid has been so.
    pub(super) fn started(&self, uid: &str) -> Option<Time> {
        match &self.get(uid)?.detail {
            Detail::Health(health) => Some(health.started_at),
            _ => None,
        }
    }

    /// The insights by how much they matter, and by name; each with what the UpdateStatus takes of it.
    pub(super) fn fitting(&self) -> impl Iterator<Item = (Rank, &Insight, Option<&Fitting>)> {
        let known = self.known.as_ref();
        self.order.iter().filter_map(move |(rank, key)| {
            let known = known?.get(key)?;
            let fitting = known.fitting.get_or_init(|| Fitting::of(&known.insight));
            Some((*rank, &known.insight, fitting.as_ref()))
        })
    }

    /// The uids of its health insights, each with that of the status insight on what it is about.
    pub(super) fn health(&self) -> Vec<(String, String)> {
        let about = |insight: &Insight| match &insight.detail {
            Detail::Health(health) => health.scope.resources.first().and_then(uid::of_resource),
            _ => None,
        };
        let all = self.by_key().map(|(_, insight)| insight);
        all.filter_map(|insight| Some((insight.uid.clone(), about(insight)?))).collect()
    }

    /// Makes `fresh` all that it knows. Health insights that are not among them leave after a while, others at once.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML; the others are known all the same.
    pub(super) fn replace(
        &mut self,
        fresh: impl IntoIterator<Item = Insight>,
        now: Time,
    ) -> Result<(), YamlError> {
        self.replace_those(|_| true, fresh, now)
    }

    /// Makes `fresh` all that it knows of those insights that `are_meant`, and of them as [`Informer::replace`] does.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML; the others are known all the same.
    pub(super) fn replace_those(
        &mut self,
        are_meant: impl Fn(&Detail) -> bool,
        fresh: impl IntoIterator<Item = Insight>,
        now: Time,
    ) -> Result<(), YamlError> {
        let meant = self.by_key().filter(|(_, insight)| are_meant(&insight.detail));
        let mut gone: BTreeSet<String> = meant.map(|(key, _)| key.clone()).collect();
        let mut outcome = Ok(());
        self.known.get_or_insert_default();
        for insight in fresh {
            gone.remove(&self.key(&insight.uid));
            outcome = outcome.and(self.put(insight));
        }
        for key in gone {
            self.withdraw_key(key, now);
        }
        outcome
    }

    /// Learns what `fresh` says.
    ///
    /// # Errors
    /// It cannot be written as YAML.
    pub(super) fn put(&mut self, fresh: Insight) -> Result<(), YamlError> {
        let key = self.key(&fresh.uid);
        let before = self.known.as_ref().and_then(|known| known.get(&key));
        let insight = match before {
            Some(before) => settle(fresh, &before.insight),
            None => fresh,
        };
        if before.is_some_and(|before| before.insight == insight && before.leaves_at.is_none()) {
            return Ok(());
        }
        self.take(&key);
        let text = yaml::to_string(&insight)?;
        self.insert(key, Known::new(insight, text));
        Ok(())
    }

    /// The cause of the insight of this uid is gone.
    pub(super) fn withdraw(&mut self, uid: &str, now: Time) {
        self.withdraw_key(self.key(uid), now);
    }

    /// Forgets the insight of this uid.
    pub(super) fn remove(&mut self, uid: &str) {
        self.take(&self.key(uid));
    }

    /// Forgets what has been gone for long enough.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some((_, key)) = self.leaving.first().filter(|(at, _)| *at <= now).cloned() {
            self.take(&key);
        }
    }

    /// When the next insight leaves.
    pub(super) fn next_expiry(&self) -> Option<Time> {
        self.leaving.first().map(|(at, _)| *at)
    }

    /// Whether the ConfigMap was seen to have all that is known, and nothing changed since.
    pub(super) fn is_published(&self) -> bool {
        self.published
    }

    /// The ConfigMap was written as [`Informer::changes`] asked for.
    pub(super) fn published(&mut self) {
        self.published = true;
    }

    /// Doubts that the ConfigMap has what is known.
    pub(super) fn doubt(&mut self) {
        self.published = false;
    }

    /// Adds what must change in the ConfigMap's data so that it has what is known, as far as `room` bytes suffice for that.
    /// Keys of others are nobody's business here, and before the first assessment nothing is. The work is bounded by what
    /// the ConfigMap holds, not by how much is known.
    pub(super) fn changes(
        &mut self,
        data: &BTreeMap<String, String>,
        room: usize,
        changes: &mut Map<String, Value>,
    ) {
        // What did not fit may do so now, and the other way round.
        let before = std::mem::replace(&mut self.room, room);
        if before != room && self.size > room.min(before) {
            self.published = false;
        }
        if self.published || self.known.is_none() {
            return;
        }
        let before = changes.len();
        let own = data.range(self.prefix.clone()..).take_while(|(key, _)| key.starts_with(&self.prefix));
        let mut own = own.peekable();
        for (key, known) in self.told(room) {
            while let Some((found, _)) = own.next_if(|(found, _)| *found < key) {
                changes.insert(found.clone(), Value::Null);
            }
            let published = own.next_if(|(found, _)| *found == key);
            if published.is_none_or(|(_, text)| *text != known.text) {
                changes.insert(key.clone(), json!(known.text));
            }
        }
        changes.extend(own.map(|(found, _)| (found.clone(), Value::Null)));
        self.published = changes.len() == before;
    }

    /// What is told where there is so much room, by key.
    fn told(&self, room: usize) -> Vec<(&String, &Known)> {
        let Some(all) = &self.known else { return Vec::new() };
        if self.size <= room {
            return all.iter().collect();
        }
        let in_order = self.order.iter().filter_map(|(_, key)| all.get_key_value(key));
        let sizes = in_order.scan(0, |size, (key, known)| {
            *size += known.text.len();
            (*size <= room).then_some((key, known))
        });
        let mut told: Vec<_> = sizes.collect();
        told.sort_unstable_by_key(|(key, _)| *key);
        told
    }

    /// How many bytes all texts take.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many insights it knows of each type that it ever knew one of.
    pub(super) fn counts(&self) -> &BTreeMap<&'static str, usize> {
        &self.counts
    }

    /// All insights by their data keys.
    pub(super) fn by_key(&self) -> impl Iterator<Item = (&String, &Insight)> {
        self.known.iter().flatten().map(|(key, known)| (key, &known.insight))
    }

    /// Whether a data key is one of its own.
    pub(super) fn owns(&self, key: &str) -> bool {
        key.starts_with(&self.prefix)
    }

    fn key(&self, uid: &str) -> String {
        format!("{}{uid}", self.prefix)
    }

    fn withdraw_key(&mut self, key: String, now: Time) {
        let Some(known) = self.known.as_mut().and_then(|known| known.get_mut(&key)) else { return };
        if !matches!(known.insight.detail, Detail::Health(_)) {
            self.take(&key);
        } else if known.leaves_at.is_none() {
            let at = after(now, GRACE_PERIOD);
            known.leaves_at = Some(at);
            self.leaving.insert((at, key));
        }
    }

    fn take(&mut self, key: &str) -> Option<Known> {
        let known = self.known.as_mut()?.remove(key)?;
        self.published = false;
        self.revision += 1;
        self.size -= known.text.len();
        if let Some(count) = self.counts.get_mut(known.insight.detail.kind()) {
            *count -= 1;
        }
        self.order.remove(&(rank(&known.insight), key.to_owned()));
        if let Some(at) = known.leaves_at {
            self.leaving.remove(&(at, key.to_owned()));
        }
        Some(known)
    }

    fn insert(&mut self, key: String, known: Known) {
        self.published = false;
        self.revision += 1;
        self.size += known.text.len();
        *self.counts.entry(known.insight.detail.kind()).or_default() += 1;
        self.order.insert((rank(&known.insight), key.clone()));
        self.known.get_or_insert_default().insert(key, known);
    }
}

fn rank(insight: &Insight) -> Rank {
    match &insight.detail {
        Detail::ClusterVersion(_) | Detail::MachineConfigPool(_) => Rank::Whole,
        Detail::ClusterOperator(_) => Rank::Operator,
        Detail::Health(health) if health.impact.level >= ImpactLevel::Error => Rank::Harm,
        other if other.is_remarkable() => Rank::Remarkable,
        _ => Rank::Quiet,
    }
}

#[cfg(test)]
mod tests;
