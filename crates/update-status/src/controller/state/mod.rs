//! The state of the controller: takes events of watches, and derives the pending writes. No IO.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::yaml::YamlError;

use super::publishing::informer::Informer;
use super::publishing::update_status_state::{Revisions, StatusWrite, UpdateStatusState};
use super::state::nodes::Nodes;
use super::state::operators::{Operators, is_of_operator};
use super::state::producers::Producers;
use super::watch::cache::{Cache, Change};
use super::watch::mirror::Mirror;
use super::watch::{CLUSTER_VERSION_CRD, ConfigMapData};
use crate::assessment::cluster_operator::{MACHINE_CONFIG_OPERATOR, Operator};
use crate::assessment::node::{Node, Pool};
use crate::assessment::progress::Progress;
use crate::assessment::{self, health};
use crate::insight::published::CONFIG_MAP;
use crate::insight::{Detail, Insight, uid};

/// The name of a cluster's ClusterVersion; the cluster-version operator ignores any other one.
const CLUSTER_VERSION: &str = "version";

/// Everything that the controller has observed and derived.
#[derive(Debug)]
pub(in crate::controller) struct State {
    cluster_versions: Cache<Object>,
    crds: Cache<Value>,
    operators: Operators,
    /// The machine-config operator's image, from its Deployment.
    operator_images: Cache<Option<String>>,
    /// The problems of the pods that fetch payloads; `None` for a pod without one.
    version_pods: Cache<Option<String>>,
    /// The pending and firing alerts; `None` before the first report.
    alerts: Option<Vec<ActiveAlert>>,
    config_map: Mirror<ConfigMapData>,
    /// The ConfigMap's resource version and the informers' revisions at which a patch was rejected.
    refused: Option<(String, Revisions)>,
    /// The UpdateStatus, if the cluster serves that kind.
    pub(in crate::controller) status_object: UpdateStatusState,
    /// The producers besides the controller.
    pub(in crate::controller) producers: Producers,
    nodes: Nodes,
    /// Minor version of the API server's Kubernetes 1.x.
    kubernetes_minor: Option<u32>,
    /// Whether the minor version may have changed since it was read.
    version_in_doubt: bool,
    /// Whether the insights on the control plane may be out of date.
    stale: bool,
    /// Whether a worker pool has nodes that are not updated.
    has_outdated_workers: bool,
    /// When to reassess the control plane even if nothing changes.
    reassess_at: Option<Time>,
    control_plane_informer: Informer,
    node_informer: Informer,
}

impl Default for State {
    fn default() -> Self {
        Self {
            cluster_versions: Cache::default(),
            crds: Cache::default(),
            operators: Operators::default(),
            operator_images: Cache::default(),
            version_pods: Cache::default(),
            alerts: None,
            config_map: Mirror::new(CONFIG_MAP),
            refused: None,
            status_object: UpdateStatusState::default(),
            producers: Producers::default(),
            nodes: Nodes::default(),
            kubernetes_minor: None,
            version_in_doubt: false,
            stale: true,
            has_outdated_workers: false,
            reassess_at: None,
            control_plane_informer: Informer::new("cpi"),
            node_informer: Informer::new("ni"),
        }
    }
}

impl State {
    pub(in crate::controller) fn cluster_version(&mut self, event: Event<(String, Object)>) {
        let listed = matches!(event, Event::InitDone);
        if self.cluster_versions.apply(event) != Change::Nothing {
            self.stale = true;
            let cluster_version = self.cluster_versions.get(CLUSTER_VERSION);
            let newest = cluster_version.map(|one| assessment::cluster_version::target_version(one));
            self.nodes.set_target(
                newest,
                cluster_version
                    .is_some_and(|one| assessment::cluster_version::is_architecture_migration(one)),
            );
        }
        // The server's version matters only if the status has values that the CRD does not allow.
        self.version_in_doubt |= listed || self.version_matters();
    }

    pub(in crate::controller) fn crd(&mut self, event: Event<(String, Value)>) {
        self.version_in_doubt |= !matches!(event, Event::Init | Event::InitApply(_));
        self.stale |= self.crds.apply(event) != Change::Nothing;
    }

    pub(in crate::controller) fn operator(&mut self, event: Event<(String, Operator)>) {
        self.stale |= self.operators.apply(event);
    }

    /// Applies an event of the watch of the machine-config operator's Deployment: its image.
    pub(in crate::controller) fn operator_image(&mut self, event: Event<(String, Option<String>)>) {
        self.stale |= self.operator_images.apply(event) != Change::Nothing;
    }

    /// Applies an event of the watch of pods that fetch payloads: their problems.
    pub(in crate::controller) fn version_pod(&mut self, event: Event<(String, Option<String>)>) {
        self.stale |= self.version_pods.apply(event) != Change::Nothing;
    }

    /// Sets the pending and firing alerts.
    pub(in crate::controller) fn alerts(&mut self, alerts: Vec<ActiveAlert>) {
        if self.alerts.as_ref() != Some(&alerts) {
            self.alerts = Some(alerts);
            self.stale = true;
        }
    }

    /// Returns whether alerts were ever reported.
    pub(in crate::controller) fn has_alerts(&self) -> bool {
        self.alerts.is_some()
    }

    pub(in crate::controller) fn node(&mut self, event: Event<(String, Node)>) {
        self.nodes.node(event);
    }

    pub(in crate::controller) fn pool(&mut self, event: Event<(String, Pool)>) {
        self.nodes.pool(event);
    }

    /// Applies an event of the watch of MachineConfigs: their release versions.
    pub(in crate::controller) fn machine_config(&mut self, event: Event<(String, Option<String>)>) {
        self.nodes.machine_config(event);
    }

    /// Sets the minor version of the API server's Kubernetes 1.x.
    pub(in crate::controller) fn kubernetes_minor(&mut self, minor: u32) {
        self.stale |= self.kubernetes_minor != Some(minor);
        self.kubernetes_minor = Some(minor);
        self.version_in_doubt = false;
    }

    /// Notes that the API server's version may have changed: replacing a server causes no event.
    pub(in crate::controller) fn mark_version_stale(&mut self) {
        self.version_in_doubt = true;
    }

    /// Returns whether any insight depends on the API server's version.
    pub(in crate::controller) fn version_matters(&self) -> bool {
        let crd = self.crds.get(CLUSTER_VERSION_CRD);
        let has_disallowed = |object: &Object| {
            crd.is_some_and(|crd| !health::frozen_status::disallowed_values(object, crd).is_empty())
        };
        self.cluster_versions.objects().values().any(has_disallowed)
    }

    /// Returns whether all objects of the control plane are known, so that a missing one does not exist.
    /// Nodes need this first. It does not need the nodes, since a cluster may have no MachineConfigs.
    pub(in crate::controller) fn is_synced(&self) -> bool {
        let operators = self.operators.is_synced() && self.operator_images.is_synced();
        self.cluster_versions.is_synced()
            && self.crds.is_synced()
            && operators
            && self.version_pods.is_synced()
            && self.config_map.is_synced()
            && self.status_object.is_synced()
    }

    /// Returns whether `GET /version` is due.
    pub(in crate::controller) fn wants_version(&self) -> bool {
        self.is_synced() && self.version_in_doubt
    }

    /// Updates the insights that changed objects affect. Does nothing before the control plane is known.
    ///
    /// # Errors
    /// An insight cannot be serialized as YAML.
    pub(in crate::controller) fn assess(&mut self, now: Time) -> Result<(), YamlError> {
        if !self.can_assess() {
            return Ok(());
        }
        let mut outcome = Ok(());
        if self.nodes.is_synced() {
            let cluster_version = self.cluster_versions.get(CLUSTER_VERSION);
            let updates = cluster_version.is_some_and(|one| assessment::cluster_version::is_updating(one));
            self.nodes.control_plane_updates(updates);
            adopt_earlier_insights(&mut self.node_informer, &self.config_map, &self.status_object);
            outcome = self.nodes.assess(&mut self.node_informer, now);
            // Insights on an update stay until the last worker is updated.
            let lag = self.nodes.has_outdated_workers();
            self.stale |= std::mem::replace(&mut self.has_outdated_workers, lag) != lag;
        }
        if std::mem::take(&mut self.stale) || self.reassess_at.is_some_and(|at| at <= now) {
            adopt_earlier_insights(&mut self.control_plane_informer, &self.config_map, &self.status_object);
            outcome = outcome.and(self.assess_control_plane(now));
        }
        self.control_plane_informer.expire(now);
        self.node_informer.expire(now);
        if self.producers.is_due(now) {
            adopt_earlier_insights(self.producers.informer_mut(), &self.config_map, &self.status_object);
            outcome = outcome.and(self.producers.assess(now));
        }
        outcome
    }

    /// Assesses the ClusterVersion, the health of the control plane, and the operators that are out of date.
    fn assess_control_plane(&mut self, now: Time) -> Result<(), YamlError> {
        let insights = self.insights(now);
        let informer = &mut self.control_plane_informer;
        let outcome = informer.replace_matching(|detail| !is_of_operator(detail), insights, now);
        let cluster_version = self.cluster_versions.get(CLUSTER_VERSION);
        let version = cluster_version.map(|one| assessment::operator_counts::target_version(one));
        self.operators.set_target(version, image(&self.operator_images));
        outcome.and(self.operators.assess(informer, now))
    }

    /// Returns whether all inputs of an assessment are known.
    fn can_assess(&self) -> bool {
        self.is_synced() && self.kubernetes_minor.is_some()
    }

    /// Returns when to reassess even if nothing changes: a condition has lasted long enough then, or an
    /// insight expires. `None` while a reassessment would do nothing.
    pub(in crate::controller) fn due(&self) -> Option<Time> {
        if !self.can_assess() {
            return None;
        }
        let expiries = self.informers().map(Informer::next_expiry);
        let others = [self.reassess_at, self.nodes.reassess_at(), self.producers.due()];
        expiries.into_iter().chain(others).flatten().min()
    }

    /// Returns whether the UpdateStatus may be out of date.
    pub(in crate::controller) fn wants_update_status(&self) -> bool {
        self.control_plane_informer.has_begun() && self.status_object.is_stale(self.revisions())
    }

    /// Returns the write that brings the UpdateStatus up to date.
    pub(in crate::controller) fn update_status(&mut self, now: Time) -> Option<StatusWrite> {
        if !self.wants_update_status() {
            return None;
        }
        let revisions = self.revisions();
        let informers = [&self.control_plane_informer, &self.node_informer, self.producers.informer()];
        self.status_object.write(informers, revisions, now)
    }

    /// Notes that these operations were applied to the UpdateStatus, which has this resource version now.
    pub(in crate::controller) fn update_status_written(&mut self, version: String, operations: Vec<Value>) {
        let revisions = self.revisions();
        self.status_object.written(version, operations, revisions);
    }

    /// Notes that the API server rejected the write of the UpdateStatus.
    pub(in crate::controller) fn update_status_refused(&mut self) {
        let revisions = self.revisions();
        self.status_object.handle_rejection(revisions);
    }

    pub(in crate::controller) fn informers(&self) -> [&Informer; 3] {
        [&self.control_plane_informer, &self.node_informer, self.producers.informer()]
    }

    pub(in crate::controller) fn insights_by_key(&self) -> BTreeMap<String, Insight> {
        let known = self.informers().into_iter().flat_map(Informer::by_key);
        known.map(|(key, insight)| (key.clone(), insight.clone())).collect()
    }

    fn revisions(&self) -> Revisions {
        self.informers().map(Informer::revision)
    }

    /// Returns all insights on the control plane at this time, except those on operators.
    fn insights(&mut self, now: Time) -> Vec<Insight> {
        let earlier = |uid: &str| self.control_plane_informer.started(uid);
        let mut findings = health::Findings::new(health::PriorInsights { now, earlier: &earlier });
        let mut insights = Vec::new();
        let version_pods: Vec<String> = self.version_pods.objects().values().flatten().cloned().collect();
        for (name, cluster_version) in self.cluster_versions.objects() {
            let progress = self.progress(cluster_version, now);
            let status = assessment::cluster_version::assess(cluster_version, progress.as_ref(), now);
            let uid = uid::of_object("cv", name);
            insights.push(Insight { uid, acquired_at: now, detail: Detail::ClusterVersion(status) });
            let facts = health::Facts {
                crd: self.crds.get(CLUSTER_VERSION_CRD),
                kubernetes_minor: self.kubernetes_minor,
                progress: progress.as_ref(),
                version_pods: &version_pods,
                has_outdated_workers: self.has_outdated_workers,
                ..health::Facts::new(cluster_version)
            };
            health::assess_cluster_version(&facts, &mut findings);
            if name == CLUSTER_VERSION && facts.is_cluster_updating() {
                let since = assessment::cluster_version::alerts_count_since(cluster_version);
                let alerts = self.alerts.as_deref().unwrap_or_default();
                health::assess_alerts(alerts, since, &mut findings);
            }
        }
        for operator in self.operators.of_payload() {
            health::assess_operator(operator, &mut findings);
        }
        let health::Outcome { insights: health, reassess_at } = findings.done();
        insights.extend(health);
        self.reassess_at = reassess_at;
        insights
    }

    /// Returns the progress of the operators, which only the ClusterVersion named `version` has.
    fn progress(&self, cluster_version: &Object, now: Time) -> Option<Progress> {
        let is_of_cluster = cluster_version.name() == CLUSTER_VERSION;
        let image = image(&self.operator_images).unwrap_or_default();
        is_of_cluster.then(|| Progress::compute(cluster_version, self.operators.all(), image, now))?
    }
}

/// Returns the image of the machine-config operator, from its Deployment.
fn image(deployments: &Cache<Option<String>>) -> Option<&str> {
    deployments.get(MACHINE_CONFIG_OPERATOR).and_then(Option::as_deref)
}

/// Makes an informer adopt the insights of an earlier process.
fn adopt_earlier_insights(
    informer: &mut Informer,
    config_map: &Mirror<ConfigMapData>,
    status_object: &UpdateStatusState,
) {
    if informer.has_begun() {
        return;
    }
    match config_map.get() {
        Some((_, data)) => informer.adopt_config_map(Some(&data.texts)),
        None => informer.adopt_insights(status_object.insights(informer.name).unwrap_or_default()),
    }
}

mod alarms;
mod config_map;
mod nodes;
mod operators;
pub(in crate::controller) mod producers;
#[cfg(test)]
mod tests;
