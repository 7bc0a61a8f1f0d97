//! What decides about the insights of nodes and pools, and which of them are out of date.
//!
//! Caches hold what assessments read and nothing else, so what changes in a cache is what insights depend on: no change
//! can be overlooked, and heartbeats cost nothing. A node that changes costs the work of one node: pools are counted, not
//! looked through.

use std::collections::{BTreeMap, BTreeSet};

use kube::runtime::watcher::Event;
use windtunnel_core::clock::Time;
use windtunnel_core::yaml::YamlError;

use super::alarms::Alarms;
use super::assess::health::{self, Findings, Outcome, Sight};
use super::assess::node::{self, Node, Pool, Releases, Standing};
use super::assess::pool::{self, Counts};
use super::cache::{Cache, Change};
use super::informer::Informer;
use super::uid;
use crate::insight::{Detail, Insight, NodeStatusInsight};

/// The pool of a node, and what it comes to there.
type Judgement = (String, NodeStatusInsight, Standing, Outcome);

/// Nodes and pools, and what else their insights depend on.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: Cache<Node>,
    pools: Cache<Pool>,
    /// Of which releases MachineConfigs are.
    releases: Cache<Option<String>>,
    /// The release that the cluster is at, or is on its way to; `None` without a ClusterVersion.
    newest: Option<String>,
    /// Whether it is on its way to another architecture of that release.
    migrates: bool,
    /// Whether the control plane updates.
    control_plane_updates: bool,
    /// Nodes to look at again.
    stale: BTreeSet<String>,
    /// Pools to look at again.
    stale_pools: BTreeSet<String>,
    /// Whether that is all of them.
    all_stale: bool,
    /// When to look at nodes again though nothing changed.
    alarms: Alarms,
    /// Since when nodes were seen to reboot.
    rebooting: BTreeMap<String, Time>,
    /// Where each node was counted.
    counted: BTreeMap<String, (String, Standing)>,
    /// The nodes of each pool.
    counts: BTreeMap<String, Counts>,
    /// The health insights that each object ever had, also those that are about to leave: of nodes and pools, by the uid
    /// of their status insight.
    ailments: BTreeMap<String, BTreeSet<String>>,
}

impl Nodes {
    /// Takes in what the watch of nodes tells.
    pub(super) fn node(&mut self, event: Event<(String, Node)>) {
        match self.known.take(event) {
            Change::Nothing => {}
            Change::One(name) => drop(self.stale.insert(name)),
            Change::Any => self.all_stale = true,
        }
    }

    /// Takes in what the watch of MachineConfigPools tells.
    pub(super) fn pool(&mut self, event: Event<(String, Pool)>) {
        let before = match &event {
            Event::Apply((name, _)) => self.pools.get(name).cloned(),
            _ => None,
        };
        match self.pools.take(event) {
            Change::Nothing => {}
            Change::One(name) => {
                let after = self.pools.get(&name);
                let is_its_own = before.zip(after).is_some_and(|(old, new)| old.is_same_for_nodes(new));
                self.all_stale |= !is_its_own;
                self.stale_pools.insert(name);
            }
            Change::Any => self.all_stale = true,
        }
    }

    /// Takes in what the watch of MachineConfigs tells.
    pub(super) fn machine_config(&mut self, event: Event<(String, Option<String>)>) {
        self.all_stale |= self.releases.take(event) != Change::Nothing;
    }

    /// Takes in which release the cluster is at, or is on its way to, and whether only to another architecture of it.
    pub(super) fn goal(&mut self, newest: Option<&str>, migrates: bool) {
        if self.newest.as_deref() != newest || self.migrates != migrates {
            self.newest = newest.map(str::to_owned);
            self.migrates = migrates;
            self.all_stale = true;
        }
    }

    /// Takes in whether the control plane updates.
    pub(super) fn control_plane_updates(&mut self, updates: bool) {
        if self.control_plane_updates != updates {
            self.control_plane_updates = updates;
            self.stale_pools.extend(self.pools.objects().keys().cloned());
        }
    }

    /// Whether all objects are known, so that what is not there is not there.
    pub(super) fn is_synced(&self) -> bool {
        self.known.is_synced() && self.pools.is_synced() && self.releases.is_synced()
    }

    /// Whether a pool other than that of the control plane has nodes that are not updated.
    pub(super) fn workers_lag(&self) -> bool {
        let is_of_workers = |name: &str| self.pools.get(name).is_some_and(|pool| !pool.is_control_plane());
        self.counts.iter().any(|(name, counts)| is_of_workers(name) && counts.outdated() > 0)
    }

    /// When to look again though nothing changed.
    pub(super) fn look_again(&self) -> Option<Time> {
        self.alarms.next()
    }

    /// Tells `informer` what became of the nodes and pools that are out of date.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML.
    pub(super) fn assess(&mut self, informer: &mut Informer, now: Time) -> Result<(), YamlError> {
        self.stale.extend(self.alarms.due(now));
        if std::mem::take(&mut self.all_stale) {
            return self.assess_all(informer, now);
        }
        let mut outcome = Ok(());
        for name in std::mem::take(&mut self.stale) {
            let insights = self.of_node(&name, informer, now);
            outcome = outcome.and(self.tell(informer, &uid::of_object("node", &name), insights, now));
        }
        for name in std::mem::take(&mut self.stale_pools) {
            let insights = self.of_pool(&name, informer, now);
            outcome = outcome.and(self.tell(informer, &uid::of_object("mcp", &name), insights, now));
        }
        outcome
    }

    fn assess_all(&mut self, informer: &mut Informer, now: Time) -> Result<(), YamlError> {
        self.stale.clear();
        self.counted.clear();
        self.counts.clear();
        self.alarms = Alarms::default();
        let known = &self.known;
        self.rebooting.retain(|name, _| known.get(name).is_some());
        let nodes: Vec<String> = self.known.objects().keys().cloned().collect();
        let pools: Vec<String> = self.pools.objects().keys().cloned().collect();
        let mut all = Vec::new();
        for name in nodes {
            all.extend(self.of_node(&name, informer, now));
        }
        for name in pools {
            all.extend(self.of_pool(&name, informer, now));
        }
        self.stale_pools.clear();
        let outcome = informer.replace(all, now);
        self.note_all_ailments(informer);
        outcome
    }

    /// Remembers which health insights are about which object; those on objects that are gone leave with them.
    fn note_all_ailments(&mut self, informer: &mut Informer) {
        self.ailments.clear();
        for (ailment, object) in informer.health() {
            if informer.get(&object).is_some() {
                self.ailments.entry(object).or_default().insert(ailment);
            } else {
                informer.remove(&ailment);
            }
        }
    }

    /// Tells what an object comes to: its status insight and what it suffers from. Nothing: it is gone, and all that was
    /// told of it goes with it.
    fn tell(
        &mut self,
        informer: &mut Informer,
        uid: &str,
        insights: Vec<Insight>,
        now: Time,
    ) -> Result<(), YamlError> {
        if insights.is_empty() {
            for ailment in self.ailments.remove(uid).unwrap_or_default() {
                informer.remove(&ailment);
            }
            informer.remove(uid);
            return Ok(());
        }
        let others = insights.iter().map(|insight| &insight.uid).filter(|other| *other != uid);
        let fresh: BTreeSet<String> = others.cloned().collect();
        let before = self.ailments.get(uid).into_iter().flatten();
        for gone in before.filter(|old| !fresh.contains(*old)) {
            informer.withdraw(gone, now);
        }
        if !fresh.is_empty() {
            self.ailments.entry(uid.to_owned()).or_default().extend(fresh);
        }
        let mut outcome = Ok(());
        for insight in insights {
            outcome = outcome.and(informer.put(insight));
        }
        outcome
    }

    /// The insights of a node; none where it is not there, or belongs to no pool. It is counted, and looked at again when
    /// time makes something else of it.
    fn of_node(&mut self, name: &str, informer: &Informer, now: Time) -> Vec<Insight> {
        if let Some((pool, standing)) = self.counted.remove(name) {
            if let Some(counts) = self.counts.get_mut(&pool) {
                counts.remove(standing);
            }
            self.stale_pools.insert(pool);
        }
        if self.known.get(name).is_some_and(Node::reboots) {
            self.rebooting.entry(name.to_owned()).or_insert(now);
        } else {
            self.rebooting.remove(name);
        }
        let Some((pool, status, standing, findings)) = self.judge(name, informer, now) else {
            self.alarms.set(name, None);
            return Vec::new();
        };
        self.counts.entry(pool.clone()).or_default().add(standing);
        self.stale_pools.insert(pool.clone());
        self.counted.insert(name.to_owned(), (pool, standing));
        self.alarms.set(name, findings.look_again);
        let uid = uid::of_object("node", name);
        let status = Insight { uid, acquired_at: now, detail: Detail::Node(status) };
        std::iter::once(status).chain(findings.insights).collect()
    }

    /// The pool of a node, and what it comes to there.
    fn judge(&self, name: &str, informer: &Informer, now: Time) -> Option<Judgement> {
        let (node, newest) = (self.known.get(name)?, self.newest.as_deref()?);
        let pool = node::pool_of(node, self.pools.objects().values())?;
        let of = |config: &str| self.releases.get(config)?.as_deref();
        let releases = Releases { of: &of, newest, migrates: self.migrates };
        let (status, standing) = node::assess(node, pool, releases, now);
        let earlier = |uid: &str| informer.started(uid);
        let mut findings = Findings::new(Sight { now, earlier: &earlier });
        health::of_node(node, pool, standing, self.rebooting.get(name).copied(), &mut findings);
        Some((pool.name.clone(), status, standing, findings.done()))
    }

    /// The insights of a pool; none where it is not there, or nobody knows where its nodes should go.
    fn of_pool(&self, name: &str, informer: &Informer, now: Time) -> Vec<Insight> {
        let (Some(pool), Some(_)) = (self.pools.get(name), &self.newest) else { return Vec::new() };
        let none = Counts::default();
        let counts = self.counts.get(name).unwrap_or(&none);
        let earlier = |uid: &str| informer.started(uid);
        let mut findings = Findings::new(Sight { now, earlier: &earlier });
        health::of_pool(pool, counts, self.control_plane_updates, &mut findings);
        let uid = uid::of_object("mcp", name);
        let detail = Detail::MachineConfigPool(pool::assess(pool, counts, now));
        let status = Insight { uid, acquired_at: now, detail };
        std::iter::once(status).chain(findings.done().insights).collect()
    }
}

#[cfg(test)]
mod tests;
