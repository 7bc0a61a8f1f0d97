//! The objects that insights on nodes and pools depend on, and which insights are out of date.
//!
//! The caches hold exactly the fields that assessments read, so every relevant change is a change in a cache,
//! and heartbeats cost nothing. A changed node costs the assessment of one node: the counts of its pool are
//! updated, not recomputed.

use std::collections::{BTreeMap, BTreeSet};

use kube::runtime::watcher::Event;
use windtunnel_core::clock::Time;
use windtunnel_core::yaml::YamlError;

use super::alarms::Alarms;
use crate::assessment::health::{self, Findings, Outcome, PriorInsights};
use crate::assessment::node::{self, Node, NodeState, Pool, Releases};
use crate::assessment::pool::{self, NodeCounts};
use crate::controller::publishing::informer::Informer;
use crate::controller::watch::cache::{Cache, Change};
use crate::insight::{Detail, Insight, NodeStatusInsight, uid};

/// The pool of a node, and its assessment.
type NodeResult = (String, NodeStatusInsight, NodeState, Outcome);

/// Nodes and pools, and everything else that their insights depend on.
#[derive(Debug, Default)]
pub(in crate::controller) struct Nodes {
    known: Cache<Node>,
    pools: Cache<Pool>,
    /// The release versions of MachineConfigs.
    releases: Cache<Option<String>>,
    /// The version that the cluster runs or is updating to; `None` without a ClusterVersion.
    newest: Option<String>,
    /// Whether the cluster is changing only its architecture.
    migrates: bool,
    /// Whether the control plane updates.
    control_plane_updates: bool,
    /// Nodes to reassess.
    stale: BTreeSet<String>,
    /// Pools to reassess.
    stale_pools: BTreeSet<String>,
    /// Whether to reassess all nodes and pools.
    all_stale: bool,
    /// When to reassess nodes even if nothing changes.
    alarms: Alarms,
    /// When nodes were first seen to reboot.
    rebooting: BTreeMap<String, Time>,
    /// The pool and state that each node is counted in.
    counted: BTreeMap<String, (String, NodeState)>,
    /// The node counts of each pool.
    counts: BTreeMap<String, NodeCounts>,
    /// All health insights that each node or pool has had, including those about to expire, by the uid of its
    /// status insight.
    health_uids: BTreeMap<String, BTreeSet<String>>,
}

impl Nodes {
    /// Applies an event of the watch of nodes.
    pub(in crate::controller) fn node(&mut self, event: Event<(String, Node)>) {
        match self.known.apply(event) {
            Change::Nothing => {}
            Change::One(name) => drop(self.stale.insert(name)),
            Change::Any => self.all_stale = true,
        }
    }

    /// Applies an event of the watch of MachineConfigPools.
    pub(in crate::controller) fn pool(&mut self, event: Event<(String, Pool)>) {
        let before = match &event {
            Event::Apply((name, _)) => self.pools.get(name).cloned(),
            _ => None,
        };
        match self.pools.apply(event) {
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

    /// Applies an event of the watch of MachineConfigs.
    pub(in crate::controller) fn machine_config(&mut self, event: Event<(String, Option<String>)>) {
        self.all_stale |= self.releases.apply(event) != Change::Nothing;
    }

    /// Sets the version that the cluster runs or is updating to, and whether only the architecture changes.
    pub(in crate::controller) fn set_target(&mut self, newest: Option<&str>, migrates: bool) {
        if self.newest.as_deref() != newest || self.migrates != migrates {
            self.newest = newest.map(str::to_owned);
            self.migrates = migrates;
            self.all_stale = true;
        }
    }

    /// Sets whether the control plane updates.
    pub(in crate::controller) fn control_plane_updates(&mut self, updates: bool) {
        if self.control_plane_updates != updates {
            self.control_plane_updates = updates;
            self.stale_pools.extend(self.pools.objects().keys().cloned());
        }
    }

    /// Returns whether all objects are known, so that a missing object does not exist.
    pub(in crate::controller) fn is_synced(&self) -> bool {
        self.known.is_synced() && self.pools.is_synced() && self.releases.is_synced()
    }

    /// Returns whether a worker pool has nodes that are not updated.
    pub(in crate::controller) fn has_outdated_workers(&self) -> bool {
        let is_of_workers = |name: &str| self.pools.get(name).is_some_and(|pool| !pool.is_control_plane());
        self.counts.iter().any(|(name, counts)| is_of_workers(name) && counts.outdated() > 0)
    }

    /// Returns when to reassess even if nothing changes.
    pub(in crate::controller) fn reassess_at(&self) -> Option<Time> {
        self.alarms.next()
    }

    /// Updates the insights in `informer` on nodes and pools that are out of date.
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML.
    pub(in crate::controller) fn assess(
        &mut self,
        informer: &mut Informer,
        now: Time,
    ) -> Result<(), YamlError> {
        self.stale.extend(self.alarms.due(now));
        if std::mem::take(&mut self.all_stale) {
            return self.assess_all(informer, now);
        }
        let mut outcome = Ok(());
        for name in std::mem::take(&mut self.stale) {
            let insights = self.assess_node(&name, informer, now);
            outcome =
                outcome.and(self.update_insights(informer, &uid::of_object("node", &name), insights, now));
        }
        for name in std::mem::take(&mut self.stale_pools) {
            let insights = self.assess_pool(&name, informer, now);
            outcome =
                outcome.and(self.update_insights(informer, &uid::of_object("mcp", &name), insights, now));
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
            all.extend(self.assess_node(&name, informer, now));
        }
        for name in pools {
            all.extend(self.assess_pool(&name, informer, now));
        }
        self.stale_pools.clear();
        let outcome = informer.replace(all, now);
        self.note_all_health_uids(informer);
        outcome
    }

    /// Records which health insights belong to which object, and removes those of deleted objects.
    fn note_all_health_uids(&mut self, informer: &mut Informer) {
        self.health_uids.clear();
        for (health_uid, object) in informer.health() {
            if informer.get(&object).is_some() {
                self.health_uids.entry(object).or_default().insert(health_uid);
            } else {
                informer.remove(&health_uid);
            }
        }
    }

    /// Updates the insights on one object. Without `insights`, the object is gone, and all insights on it are
    /// removed.
    fn update_insights(
        &mut self,
        informer: &mut Informer,
        uid: &str,
        insights: Vec<Insight>,
        now: Time,
    ) -> Result<(), YamlError> {
        if insights.is_empty() {
            for health_uid in self.health_uids.remove(uid).unwrap_or_default() {
                informer.remove(&health_uid);
            }
            informer.remove(uid);
            return Ok(());
        }
        let others = insights.iter().map(|insight| &insight.uid).filter(|other| *other != uid);
        let fresh: BTreeSet<String> = others.cloned().collect();
        let before = self.health_uids.get(uid).into_iter().flatten();
        for gone in before.filter(|old| !fresh.contains(*old)) {
            informer.withdraw(gone, now);
        }
        if !fresh.is_empty() {
            self.health_uids.entry(uid.to_owned()).or_default().extend(fresh);
        }
        let mut outcome = Ok(());
        for insight in insights {
            outcome = outcome.and(informer.put(insight));
        }
        outcome
    }

    /// Returns the insights on a node; none if it does not exist or belongs to no pool. Also counts the node
    /// and schedules its reassessment.
    fn assess_node(&mut self, name: &str, informer: &Informer, now: Time) -> Vec<Insight> {
        if let Some((pool, state)) = self.counted.remove(name) {
            if let Some(counts) = self.counts.get_mut(&pool) {
                counts.remove(state);
            }
            self.stale_pools.insert(pool);
        }
        if self.known.get(name).is_some_and(Node::is_rebooting) {
            self.rebooting.entry(name.to_owned()).or_insert(now);
        } else {
            self.rebooting.remove(name);
        }
        let Some((pool, status, state, findings)) = self.assess_in_pool(name, informer, now) else {
            self.alarms.set(name, None);
            return Vec::new();
        };
        self.counts.entry(pool.clone()).or_default().add(state);
        self.stale_pools.insert(pool.clone());
        self.counted.insert(name.to_owned(), (pool, state));
        self.alarms.set(name, findings.reassess_at);
        let uid = uid::of_object("node", name);
        let status = Insight { uid, acquired_at: now, detail: Detail::Node(status) };
        std::iter::once(status).chain(findings.insights).collect()
    }

    fn assess_in_pool(&self, name: &str, informer: &Informer, now: Time) -> Option<NodeResult> {
        let (node, newest) = (self.known.get(name)?, self.newest.as_deref()?);
        let pool = node::pool_of(node, self.pools.objects().values())?;
        let of = |config: &str| self.releases.get(config)?.as_deref();
        let releases = Releases { of: &of, newest, migrates: self.migrates };
        let (status, state) = node::assess(node, pool, releases, now);
        let earlier = |uid: &str| informer.started(uid);
        let mut findings = Findings::new(PriorInsights { now, earlier: &earlier });
        health::assess_node(node, pool, state, self.rebooting.get(name).copied(), &mut findings);
        Some((pool.name.clone(), status, state, findings.done()))
    }

    /// Returns the insights on a pool; none if it does not exist or there is no ClusterVersion.
    fn assess_pool(&self, name: &str, informer: &Informer, now: Time) -> Vec<Insight> {
        let (Some(pool), Some(_)) = (self.pools.get(name), &self.newest) else { return Vec::new() };
        let none = NodeCounts::default();
        let counts = self.counts.get(name).unwrap_or(&none);
        let earlier = |uid: &str| informer.started(uid);
        let mut findings = Findings::new(PriorInsights { now, earlier: &earlier });
        health::assess_pool(pool, counts, self.control_plane_updates, &mut findings);
        let uid = uid::of_object("mcp", name);
        let detail = Detail::MachineConfigPool(pool::assess(pool, counts, now));
        let status = Insight { uid, acquired_at: now, detail };
        std::iter::once(status).chain(findings.done().insights).collect()
    }
}

#[cfg(test)]
mod tests;
