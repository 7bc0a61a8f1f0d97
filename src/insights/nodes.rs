//! What decides about the insights of nodes, and which of them are out of date.
//!
//! Caches hold what assessments read and nothing else, so what changes in a cache is what insights depend on: no change
//! can be overlooked, and heartbeats cost nothing.

use std::collections::BTreeSet;

use kube::runtime::watcher::Event;

use super::assess::node::{self, Node, Pool, Releases};
use super::cache::{Cache, Change};
use super::informer::Informer;
use super::uid;
use crate::base::clock::Time;
use crate::base::yaml::YamlError;
use crate::model::insight::{Detail, Insight};

/// Nodes, and what else their insights depend on.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: Cache<Node>,
    pools: Cache<Pool>,
    /// Of which releases MachineConfigs are.
    releases: Cache<Option<String>>,
    /// The release that the cluster is at, or is on its way to; `None` without a ClusterVersion.
    newest: Option<String>,
    /// Nodes to look at again.
    stale: BTreeSet<String>,
    /// Whether that is all of them.
    all_stale: bool,
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
        self.all_stale |= self.pools.take(event) != Change::Nothing;
    }

    /// Takes in what the watch of MachineConfigs tells.
    pub(super) fn machine_config(&mut self, event: Event<(String, Option<String>)>) {
        self.all_stale |= self.releases.take(event) != Change::Nothing;
    }

    /// Takes in which release the cluster is at, or is on its way to.
    pub(super) fn newest(&mut self, newest: Option<&str>) {
        if self.newest.as_deref() != newest {
            self.newest = newest.map(str::to_owned);
            self.all_stale = true;
        }
    }

    /// Whether all objects are known, so that what is not there is not there.
    pub(super) fn is_synced(&self) -> bool {
        self.known.is_synced() && self.pools.is_synced() && self.releases.is_synced()
    }

    /// Tells `informer` what became of the nodes that are out of date.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML.
    pub(super) fn assess(&mut self, informer: &mut Informer, now: Time) -> Result<(), YamlError> {
        let stale = std::mem::take(&mut self.stale);
        if std::mem::take(&mut self.all_stale) {
            return informer
                .replace(self.known.objects().values().filter_map(|node| self.insight(node, now)));
        }
        for name in stale {
            match self.known.get(&name).and_then(|node| self.insight(node, now)) {
                Some(insight) => informer.put(insight)?,
                None => informer.remove(&uid::of_object("node", &name)),
            }
        }
        Ok(())
    }

    /// The insight of a node that belongs to a pool.
    fn insight(&self, node: &Node, now: Time) -> Option<Insight> {
        let newest = self.newest.as_deref()?;
        let pool = node::pool_of(node, self.pools.objects().values())?;
        let of = |config: &str| self.releases.get(config)?.as_deref();
        let status = node::assess(node, pool, Releases { of: &of, newest }, now);
        let uid = uid::of_object("node", &node.name);
        Some(Insight { uid, acquired_at: now, detail: Detail::Node(status) })
    }
}

#[cfg(test)]
mod tests;
