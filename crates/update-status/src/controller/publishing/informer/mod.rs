//! The insights of one informer: keeps their times stable, expires them, and computes the changes of the
//! ConfigMap that publish them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::yaml::{self, YamlError};

use super::api_insight::ApiInsight;
use super::keep_times::keep_times;
use crate::insight::published::PRODUCERS;
use crate::insight::{Detail, ImpactLevel, Insight, uid};

/// How long a health insight stays after its cause is gone. If the cause returns by then, the insight
/// continues unchanged (`unknownInsightGracePeriod` of the upstream controller).
pub(in crate::controller) const GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(60);

/// An insight and its text in the ConfigMap.
#[derive(Debug)]
struct Known {
    insight: Insight,
    text: String,
    /// The insight in the form of the UpdateStatus; computed on demand.
    api_form: OnceLock<Option<ApiInsight>>,
    /// When it expires, if its cause is gone.
    leaves_at: Option<Time>,
}

impl Known {
    fn new(insight: Insight, text: String) -> Self {
        Self { insight, text, api_form: OnceLock::new(), leaves_at: None }
    }
}

/// The insights of one informer by data key.
#[derive(Debug)]
pub(in crate::controller) struct Informer {
    /// Its name in the API.
    pub(in crate::controller) name: &'static str,
    /// The prefix of its data keys. Every key with this prefix belongs to it.
    prefix: String,
    /// Whether it has the insights of several informers of the API.
    is_shared: bool,
    /// `None` before the first assessment.
    known: Option<BTreeMap<String, Known>>,
    /// Keys ordered by importance, for when space is limited.
    order: BTreeSet<(Rank, String)>,
    /// The size of all texts in bytes.
    size: usize,
    /// The number of insights by type, for all types that ever had one.
    counts: BTreeMap<&'static str, usize>,
    /// Insights to be removed, by time.
    leaving: BTreeSet<(Time, String)>,
    /// Whether the ConfigMap is known to have all insights.
    published: bool,
    /// The size limit of the last publication, in bytes.
    room: usize,
    /// The number of changes of the insights.
    revision: u64,
}

/// An insight, and how it is published in the UpdateStatus.
pub(in crate::controller) struct Entry<'a> {
    /// Its importance.
    pub(in crate::controller) rank: Rank,
    /// The name of its informer in the API.
    pub(in crate::controller) informer: &'a str,
    /// The insight.
    pub(in crate::controller) insight: &'a Insight,
    /// Its form in the API; `None` if the API does not accept it.
    pub(in crate::controller) api_form: Option<&'a ApiInsight>,
}

/// The importance of an insight when space is limited, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controller) enum Rank {
    /// On the control plane or a whole pool. Without it, the progress of the update is unknown.
    Whole,
    /// On an operator. There are a few dozen of them.
    Operator,
    /// A health insight of level `Error` or higher.
    Harm,
    /// Any other insight on more than a node that waits or is updated.
    Remarkable,
    Quiet,
}

impl Informer {
    pub(in crate::controller) fn new(name: &'static str) -> Self {
        Self {
            name,
            prefix: format!("usc.{name}."),
            is_shared: false,
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

    /// Creates the informer that has the insights of all producers. Their uids start with the name of the
    /// producer's informer and a dot.
    pub(in crate::controller) fn of_producers() -> Self {
        Self { is_shared: true, ..Self::new(PRODUCERS) }
    }

    pub(in crate::controller) fn revision(&self) -> u64 {
        self.revision
    }

    /// Adopts, once, the insights that an earlier process left in the ConfigMap's data, with their times.
    pub(in crate::controller) fn adopt_config_map(&mut self, data: Option<&BTreeMap<String, String>>) {
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

    /// Adopts, once, the insights that an earlier process left in the UpdateStatus, for clusters without the
    /// ConfigMap.
    pub(in crate::controller) fn adopt_insights(&mut self, insights: Vec<Insight>) {
        if self.known.is_none() {
            self.published = false;
            self.known = Some(BTreeMap::new());
            for insight in insights {
                // An insight that cannot be serialized will not be published either.
                let _ = self.put(insight);
            }
        }
    }

    /// Returns whether it has assessed anything or adopted an earlier process's insights.
    pub(in crate::controller) fn has_begun(&self) -> bool {
        self.known.is_some()
    }

    pub(in crate::controller) fn get(&self, uid: &str) -> Option<&Insight> {
        self.known.as_ref()?.get(&self.key(uid)).map(|known| &known.insight)
    }

    /// Returns the start of the health insight with this uid.
    pub(in crate::controller) fn started(&self, uid: &str) -> Option<Time> {
        match &self.get(uid)?.detail {
            Detail::Health(health) => Some(health.started_at),
            _ => None,
        }
    }

    /// Returns the insights ordered by importance and key, each with its form in the UpdateStatus.
    pub(in crate::controller) fn by_importance(&self) -> impl Iterator<Item = Entry<'_>> {
        let known = self.known.as_ref();
        self.order.iter().filter_map(move |(rank, key)| {
            let known = known?.get(key)?;
            let (informer, uid) = self.api_names(&known.insight.uid);
            let api_form = known.api_form.get_or_init(|| ApiInsight::new(&known.insight, uid));
            Some(Entry { rank: *rank, informer, insight: &known.insight, api_form: api_form.as_ref() })
        })
    }

    /// Returns the informer and the uid that an insight has in the API.
    fn api_names<'a>(&self, uid: &'a str) -> (&'a str, &'a str)
    where
        'static: 'a,
    {
        match uid.split_once('.') {
            Some(names) if self.is_shared => names,
            _ => (self.name, uid),
        }
    }

    /// Returns the uids of its health insights, each with the uid of the status insight on the affected
    /// object.
    pub(in crate::controller) fn health(&self) -> Vec<(String, String)> {
        let affected = |insight: &Insight| match &insight.detail {
            Detail::Health(health) => health.scope.resources.first().and_then(uid::of_resource),
            _ => None,
        };
        let all = self.by_key().map(|(_, insight)| insight);
        all.filter_map(|insight| Some((insight.uid.clone(), affected(insight)?))).collect()
    }

    /// Replaces all insights by `fresh`. Missing health insights expire after a while, others are removed at
    /// once.
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML; the others are kept nevertheless.
    pub(in crate::controller) fn replace(
        &mut self,
        fresh: impl IntoIterator<Item = Insight>,
        now: Time,
    ) -> Result<(), YamlError> {
        self.replace_matching(|_| true, fresh, now)
    }

    /// Replaces the insights that match `matches` by `fresh`, like [`Informer::replace`].
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML; the others are kept nevertheless.
    pub(in crate::controller) fn replace_matching(
        &mut self,
        matches: impl Fn(&Detail) -> bool,
        fresh: impl IntoIterator<Item = Insight>,
        now: Time,
    ) -> Result<(), YamlError> {
        let matching = self.by_key().filter(|(_, insight)| matches(&insight.detail));
        let mut gone: BTreeSet<String> = matching.map(|(key, _)| key.clone()).collect();
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

    /// Replaces all insights by `fresh`. Missing ones are removed at once.
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML; the others are kept nevertheless.
    pub(in crate::controller) fn replace_at_once(
        &mut self,
        fresh: impl IntoIterator<Item = Insight>,
    ) -> Result<(), YamlError> {
        let mut gone: BTreeSet<String> = self.by_key().map(|(key, _)| key.clone()).collect();
        let mut outcome = Ok(());
        self.known.get_or_insert_default();
        for insight in fresh {
            gone.remove(&self.key(&insight.uid));
            outcome = outcome.and(self.put(insight));
        }
        for key in &gone {
            self.take(key);
        }
        outcome
    }

    /// Adds or updates an insight.
    ///
    /// # Errors
    /// It cannot be serialized as YAML.
    pub(in crate::controller) fn put(&mut self, fresh: Insight) -> Result<(), YamlError> {
        let key = self.key(&fresh.uid);
        let before = self.known.as_ref().and_then(|known| known.get(&key));
        let insight = match before {
            Some(before) => keep_times(fresh, &before.insight),
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

    /// Schedules the removal of this insight, whose cause is gone.
    pub(in crate::controller) fn withdraw(&mut self, uid: &str, now: Time) {
        self.withdraw_key(self.key(uid), now);
    }

    pub(in crate::controller) fn remove(&mut self, uid: &str) {
        self.take(&self.key(uid));
    }

    /// Removes the insights whose time has come.
    pub(in crate::controller) fn expire(&mut self, now: Time) {
        while let Some((_, key)) = self.leaving.first().filter(|(at, _)| *at <= now).cloned() {
            self.take(&key);
        }
    }

    pub(in crate::controller) fn next_expiry(&self) -> Option<Time> {
        self.leaving.first().map(|(at, _)| *at)
    }

    pub(in crate::controller) fn is_published(&self) -> bool {
        self.published
    }

    /// Notes that the ConfigMap was written with [`Informer::changes`].
    pub(in crate::controller) fn mark_published(&mut self) {
        self.published = true;
    }

    /// Notes that the ConfigMap may differ from the insights.
    pub(in crate::controller) fn mark_unpublished(&mut self) {
        self.published = false;
    }

    /// Adds the changes of the ConfigMap's data that publish the insights in at most `room` bytes. Foreign
    /// keys stay, and nothing changes before the first assessment. The cost depends on the size of the
    /// ConfigMap, not on the number of insights.
    pub(in crate::controller) fn changes(
        &mut self,
        data: &BTreeMap<String, String>,
        room: usize,
        changes: &mut Map<String, Value>,
    ) {
        // A changed limit can add insights or remove them.
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
        for (key, known) in self.insights_within(room) {
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

    /// Returns the insights that fit into `room` bytes, by key.
    fn insights_within(&self, room: usize) -> Vec<(&String, &Known)> {
        let Some(all) = &self.known else { return Vec::new() };
        if self.size <= room {
            return all.iter().collect();
        }
        let in_order = self.order.iter().filter_map(|(_, key)| all.get_key_value(key));
        let sizes = in_order.scan(0, |size, (key, known)| {
            *size += known.text.len();
            (*size <= room).then_some((key, known))
        });
        let mut fitting: Vec<_> = sizes.collect();
        fitting.sort_unstable_by_key(|(key, _)| *key);
        fitting
    }

    pub(in crate::controller) fn size(&self) -> usize {
        self.size
    }

    pub(in crate::controller) fn counts(&self) -> &BTreeMap<&'static str, usize> {
        &self.counts
    }

    pub(in crate::controller) fn by_key(&self) -> impl Iterator<Item = (&String, &Insight)> {
        self.known.iter().flatten().map(|(key, known)| (key, &known.insight))
    }

    /// Returns whether a data key belongs to this informer.
    pub(in crate::controller) fn owns(&self, key: &str) -> bool {
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
