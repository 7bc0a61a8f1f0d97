//! What the controller knows: events of watches in, the patch that it wants made out. No IO.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use serde_json::Value;

use super::assess::{self, health};
use super::cache::Cache;
use super::{publish, uid};
use crate::base::clock::Time;
use crate::base::yaml::{self, YamlError};
use crate::model::insight::{Detail, Insight};

/// The CustomResourceDefinition that decides what a ClusterVersion may hold.
pub(super) const CLUSTER_VERSION_CRD: &str = "clusterversions.config.openshift.io";

/// What the controller remembers of a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Published {
    /// `metadata.resourceVersion`.
    pub(super) resource_version: String,
    /// `data`.
    pub(super) data: BTreeMap<String, String>,
}

impl Published {
    /// Whether this is older than `other`, as far as resource versions can be compared.
    fn is_older_than(&self, other: &Self) -> bool {
        let number = |version: &str| version.parse::<u64>().ok();
        matches!((number(&self.resource_version), number(&other.resource_version)), (Some(a), Some(b)) if a < b)
    }
}

/// An insight and its text in the ConfigMap.
#[derive(Debug)]
struct Known {
    insight: Insight,
    text: String,
}

/// Everything that the controller has seen and concluded.
#[derive(Debug, Default)]
pub(super) struct State {
    cluster_versions: Cache<Value>,
    crds: Cache<Value>,
    config_maps: Cache<Published>,
    /// Minor of the Kubernetes 1.x that answers.
    kubernetes_minor: Option<u32>,
    /// Whether that may have changed since it was asked.
    version_in_doubt: bool,
    /// Insights by uid; `None` before the first assessment.
    known: Option<BTreeMap<String, Known>>,
}

impl State {
    /// Takes in what the watch of ClusterVersions tells.
    pub(super) fn cluster_version(&mut self, event: Event<(String, Value)>) {
        let listed = matches!(event, Event::InitDone);
        self.cluster_versions.take(event);
        // Only a status with foreign values makes it matter which server answers.
        self.version_in_doubt |= listed || self.version_matters();
    }

    /// Takes in what the watch of the CRD tells.
    pub(super) fn crd(&mut self, event: Event<(String, Value)>) {
        self.version_in_doubt |= !matches!(event, Event::Init | Event::InitApply(_));
        self.crds.take(event);
    }

    /// Takes in what the watch of ConfigMaps tells. An event from before the last patch is out of date.
    pub(super) fn config_map(&mut self, event: Event<(String, Published)>) {
        if let Event::Apply((name, seen)) = &event
            && self.config_maps.get(name).is_some_and(|known| seen.is_older_than(known))
        {
            return;
        }
        self.version_in_doubt |= matches!(event, Event::InitDone);
        self.config_maps.take(event);
    }

    /// Takes in which Kubernetes 1.x answers.
    pub(super) fn kubernetes_minor(&mut self, minor: u32) {
        self.kubernetes_minor = Some(minor);
        self.version_in_doubt = false;
    }

    /// Doubts which Kubernetes answers: servers are replaced without a word.
    pub(super) fn doubt_version(&mut self) {
        self.version_in_doubt = true;
    }

    /// Whether any insight depends on which Kubernetes answers.
    pub(super) fn version_matters(&self) -> bool {
        let crd = self.crds.get(CLUSTER_VERSION_CRD);
        let foreign = |object: &Value| {
            crd.is_some_and(|crd| !health::frozen_status::foreign_values(object, crd).is_empty())
        };
        self.cluster_versions.objects().values().any(foreign)
    }

    /// Whether all objects are known, so that what is not there is not there.
    pub(super) fn is_synced(&self) -> bool {
        self.cluster_versions.is_synced() && self.crds.is_synced() && self.config_maps.is_synced()
    }

    /// Whether `GET /version` is due.
    pub(super) fn wants_version(&self) -> bool {
        self.is_synced() && self.version_in_doubt
    }

    /// Draws conclusions from all that was seen. Does nothing before everything is known.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML.
    pub(super) fn assess(&mut self, now: Time) -> Result<(), YamlError> {
        if !self.is_synced() || self.kubernetes_minor.is_none() {
            return Ok(());
        }
        let mut earlier = match self.known.take() {
            Some(known) => known,
            None => self.left_behind(),
        };
        let mut known = BTreeMap::new();
        let mut outcome = Ok(());
        for fresh in self.insights(now, &earlier) {
            match keep(fresh, &mut earlier) {
                Ok(entry) => drop(known.insert(entry.insight.uid.clone(), entry)),
                Err(error) => outcome = Err(error),
            }
        }
        self.known = Some(known);
        outcome
    }

    /// The merge patch that the ConfigMap needs; `None` if it is as it should be, is not there, or it is too early to
    /// tell.
    pub(super) fn patch(&self) -> Option<Value> {
        let published = self.config_maps.get(publish::CONFIG_MAP)?;
        let wanted =
            self.known.as_ref()?.iter().map(|(uid, known)| (uid.as_str(), known.text.as_str())).collect();
        publish::patch(&wanted, &published.data)
    }

    /// All insights of this moment.
    fn insights(&self, now: Time, earlier: &BTreeMap<String, Known>) -> Vec<Insight> {
        let since = |uid: &str| match &earlier.get(uid)?.insight.detail {
            Detail::Health(health) => Some(health.started_at),
            Detail::ClusterVersion(_) | Detail::Node(_) => None,
        };
        let sight = health::Sight { now, earlier: &since };
        let mut insights = Vec::new();
        for (name, cluster_version) in self.cluster_versions.objects() {
            let status = assess::cluster_version::assess(cluster_version, now);
            let uid = uid::of_object("cv", name);
            insights.push(Insight { uid, acquired_at: now, detail: Detail::ClusterVersion(status) });
            let crd = self.crds.get(CLUSTER_VERSION_CRD);
            let facts = health::Facts { cluster_version, crd, kubernetes_minor: self.kubernetes_minor };
            insights.extend(health::assess(&facts, &sight).into_iter().map(|health| Insight {
                uid: uid::of_health(&health),
                acquired_at: now,
                detail: Detail::Health(health),
            }));
        }
        insights
    }

    /// Insights that an earlier process of this controller left in the ConfigMap: their times go on.
    fn left_behind(&self) -> BTreeMap<String, Known> {
        let Some(published) = self.config_maps.get(publish::CONFIG_MAP) else { return BTreeMap::new() };
        let read = |(key, text): (&String, &String)| {
            let uid = key.strip_prefix(publish::KEY_PREFIX)?;
            let insight: Insight = yaml::from_str(text).ok()?;
            (insight.uid == uid).then(|| (uid.to_owned(), Known { insight, text: text.clone() }))
        };
        published.data.iter().filter_map(read).collect()
    }
}

/// The insight as it is to be published; one that did not change keeps its text.
fn keep(fresh: Insight, earlier: &mut BTreeMap<String, Known>) -> Result<Known, YamlError> {
    let before = earlier.remove(&fresh.uid);
    let insight = match &before {
        Some(before) => publish::settle(fresh, &before.insight),
        None => fresh,
    };
    match before {
        Some(before) if before.insight == insight => Ok(before),
        _ => yaml::to_string(&insight).map(|text| Known { insight, text }),
    }
}

#[cfg(test)]
mod tests;
