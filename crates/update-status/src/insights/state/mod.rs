//! What the controller knows: events of watches in, the patch that it wants made out. No IO.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::yaml::YamlError;

use super::assess::cluster_operator::{MACHINE_CONFIG_OPERATOR, Operator};
use super::assess::node::{Node, Pool};
use super::assess::progress::Progress;
use super::assess::{self, health};
use super::cache::{Cache, Change};
use super::informer::Informer;
use super::mirror::Mirror;
use super::nodes::Nodes;
use super::operators::{Operators, is_of_operator};
use super::singleton::{Singleton, StatusWrite};
use super::uid;
use crate::insight::published::CONFIG_MAP;
use crate::insight::{Detail, Insight};

/// The ClusterVersion of a cluster; what others are called is not acted on by anybody.
const CLUSTER_VERSION: &str = "version";

/// The CustomResourceDefinition that decides what a ClusterVersion may hold.
pub(super) const CLUSTER_VERSION_CRD: &str = "clusterversions.config.openshift.io";

/// Everything that the controller has seen and concluded.
#[derive(Debug)]
pub(super) struct State {
    cluster_versions: Cache<Object>,
    crds: Cache<Value>,
    operators: Operators,
    /// The machine-config operator's image, by its Deployment.
    operator_images: Cache<Option<String>>,
    /// What the pods that fetch payloads suffer from; `None`: nothing.
    version_pods: Cache<Option<String>>,
    /// The alerts that are pending or fire; `None` before anybody told.
    alerts: Option<Vec<ActiveAlert>>,
    config_map: Mirror<Data>,
    /// The version of the ConfigMap, and the state of the informers, with which a patch was refused.
    refused: Option<(String, [u64; 2])>,
    /// The UpdateStatus, where the cluster has such a thing.
    pub(super) singleton: Singleton,
    nodes: Nodes,
    /// Minor of the Kubernetes 1.x that answers.
    kubernetes_minor: Option<u32>,
    /// Whether that may have changed since it was asked.
    version_in_doubt: bool,
    /// Whether the insights on the control plane may be out of date.
    stale: bool,
    /// Whether workers were seen that are not updated.
    workers_lag: bool,
    /// When to look at the control plane again though nothing changed.
    look_again: Option<Time>,
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
            singleton: Singleton::default(),
            nodes: Nodes::default(),
            kubernetes_minor: None,
            version_in_doubt: false,
            stale: true,
            workers_lag: false,
            look_again: None,
            control_plane_informer: Informer::new("cpi"),
            node_informer: Informer::new("ni"),
        }
    }
}

impl State {
    /// Takes in what the watch of ClusterVersions tells.
    pub(super) fn cluster_version(&mut self, event: Event<(String, Object)>) {
        let listed = matches!(event, Event::InitDone);
        if self.cluster_versions.take(event) != Change::Nothing {
            self.stale = true;
            let cluster_version = self.cluster_versions.get(CLUSTER_VERSION);
            let newest = cluster_version.map(|one| assess::cluster_version::newest(one));
            self.nodes.goal(newest, cluster_version.is_some_and(assess::cluster_version::migrates));
        }
        // Only a status with foreign values makes it matter which server answers.
        self.version_in_doubt |= listed || self.version_matters();
    }

    /// Takes in what the watch of the CRD tells.
    pub(super) fn crd(&mut self, event: Event<(String, Value)>) {
        self.version_in_doubt |= !matches!(event, Event::Init | Event::InitApply(_));
        self.stale |= self.crds.take(event) != Change::Nothing;
    }

    /// Takes in what the watch of ClusterOperators tells.
    pub(super) fn operator(&mut self, event: Event<(String, Operator)>) {
        self.stale |= self.operators.take(event);
    }

    /// Takes in what the watch of the machine-config operator's Deployment tells: its image.
    pub(super) fn operator_image(&mut self, event: Event<(String, Option<String>)>) {
        self.stale |= self.operator_images.take(event) != Change::Nothing;
    }

    /// Takes in what the watch of pods tells that fetch payloads: what they suffer from.
    pub(super) fn version_pod(&mut self, event: Event<(String, Option<String>)>) {
        self.stale |= self.version_pods.take(event) != Change::Nothing;
    }

    /// Takes in which alerts are pending or fire.
    pub(super) fn alerts(&mut self, alerts: Vec<ActiveAlert>) {
        if self.alerts.as_ref() != Some(&alerts) {
            self.alerts = Some(alerts);
            self.stale = true;
        }
    }

    /// Whether anybody told of alerts.
    pub(super) fn has_alerts(&self) -> bool {
        self.alerts.is_some()
    }

    /// Takes in what the watch of nodes tells.
    pub(super) fn node(&mut self, event: Event<(String, Node)>) {
        self.nodes.node(event);
    }

    /// Takes in what the watch of MachineConfigPools tells.
    pub(super) fn pool(&mut self, event: Event<(String, Pool)>) {
        self.nodes.pool(event);
    }

    /// Takes in what the watch of MachineConfigs tells: the releases that they are of.
    pub(super) fn machine_config(&mut self, event: Event<(String, Option<String>)>) {
        self.nodes.machine_config(event);
    }

    /// Takes in which Kubernetes 1.x answers.
    pub(super) fn kubernetes_minor(&mut self, minor: u32) {
        self.stale |= self.kubernetes_minor != Some(minor);
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
        let foreign = |object: &Object| {
            crd.is_some_and(|crd| !health::frozen_status::foreign_values(object, crd).is_empty())
        };
        self.cluster_versions.objects().values().any(foreign)
    }

    /// Whether all objects of the control plane are known, so that what is not there is not there. Nodes have to wait for
    /// it, and it does not wait for them: a cluster may have no MachineConfigs.
    pub(super) fn is_synced(&self) -> bool {
        let operators = self.operators.is_synced() && self.operator_images.is_synced();
        self.cluster_versions.is_synced()
            && self.crds.is_synced()
            && operators
            && self.version_pods.is_synced()
            && self.config_map.is_synced()
            && self.singleton.is_synced()
    }

    /// Whether `GET /version` is due.
    pub(super) fn wants_version(&self) -> bool {
        self.is_synced() && self.version_in_doubt
    }

    /// Draws conclusions from what changed. Does nothing before everything is known.
    ///
    /// # Errors
    /// An insight that cannot be written as YAML.
    pub(super) fn assess(&mut self, now: Time) -> Result<(), YamlError> {
        if !self.can_assess() {
            return Ok(());
        }
        let mut outcome = Ok(());
        if self.nodes.is_synced() {
            let cluster_version = self.cluster_versions.get(CLUSTER_VERSION);
            let updates = cluster_version.is_some_and(|one| assess::cluster_version::is_updating(one));
            self.nodes.control_plane_updates(updates);
            begin(&mut self.node_informer, &self.config_map, &self.singleton);
            outcome = self.nodes.assess(&mut self.node_informer, now);
            // What is told of an update is told until the last worker is through.
            let lag = self.nodes.workers_lag();
            self.stale |= std::mem::replace(&mut self.workers_lag, lag) != lag;
        }
        if std::mem::take(&mut self.stale) || self.look_again.is_some_and(|at| at <= now) {
            begin(&mut self.control_plane_informer, &self.config_map, &self.singleton);
            outcome = outcome.and(self.assess_control_plane(now));
        }
        self.control_plane_informer.expire(now);
        self.node_informer.expire(now);
        outcome
    }

    /// Assesses the ClusterVersion, what the control plane suffers from, and the operators that are out of date.
    fn assess_control_plane(&mut self, now: Time) -> Result<(), YamlError> {
        let insights = self.insights(now);
        let informer = &mut self.control_plane_informer;
        let outcome = informer.replace_those(|detail| !is_of_operator(detail), insights, now);
        let cluster_version = self.cluster_versions.get(CLUSTER_VERSION);
        let version = cluster_version.map(|one| assess::cluster_version::desired(one));
        self.operators.goal(version, image(&self.operator_images));
        outcome.and(self.operators.assess(informer, now))
    }

    /// Whether everything is known that conclusions are drawn from.
    fn can_assess(&self) -> bool {
        self.is_synced() && self.kubernetes_minor.is_some()
    }

    /// When to assess again though nothing changed: a condition has lasted for long enough then, or an insight leaves. `None`
    /// as long as that would change nothing.
    pub(super) fn due(&self) -> Option<Time> {
        if !self.can_assess() {
            return None;
        }
        let expiries = self.informers().map(Informer::next_expiry);
        expiries.into_iter().chain([self.look_again, self.nodes.look_again()]).flatten().min()
    }

    /// Whether the UpdateStatus may not be as it should be.
    pub(super) fn wants_update_status(&self) -> bool {
        self.control_plane_informer.has_begun() && self.singleton.is_stale(self.revisions())
    }

    /// What has to be written for the UpdateStatus to be as it should be.
    pub(super) fn update_status(&mut self, now: Time) -> Option<StatusWrite> {
        if !self.wants_update_status() {
            return None;
        }
        let revisions = self.revisions();
        let informers = [&self.control_plane_informer, &self.node_informer];
        self.singleton.write(informers, revisions, now)
    }

    /// These operations were done with the UpdateStatus: it is of this resource version now.
    pub(super) fn update_status_written(&mut self, version: String, operations: Vec<Value>) {
        let revisions = self.revisions();
        self.singleton.written(version, operations, revisions);
    }

    /// The API server refused what was to be written into the UpdateStatus.
    pub(super) fn update_status_refused(&mut self) {
        let revisions = self.revisions();
        self.singleton.refused(revisions);
    }

    /// What both informers know.
    pub(super) fn informers(&self) -> [&Informer; 2] {
        [&self.control_plane_informer, &self.node_informer]
    }

    /// All insights by their data keys.
    pub(super) fn insights_by_key(&self) -> BTreeMap<String, Insight> {
        let known = self.informers().into_iter().flat_map(Informer::by_key);
        known.map(|(key, insight)| (key.clone(), insight.clone())).collect()
    }

    fn revisions(&self) -> [u64; 2] {
        [self.control_plane_informer.revision(), self.node_informer.revision()]
    }

    /// All insights on the control plane at this moment, but for those on operators.
    fn insights(&mut self, now: Time) -> Vec<Insight> {
        let earlier = |uid: &str| self.control_plane_informer.started(uid);
        let mut findings = health::Findings::new(health::Sight { now, earlier: &earlier });
        let mut insights = Vec::new();
        let version_pods: Vec<String> = self.version_pods.objects().values().flatten().cloned().collect();
        for (name, cluster_version) in self.cluster_versions.objects() {
            let progress = self.progress(cluster_version, now);
            let status = assess::cluster_version::assess(cluster_version, progress.as_ref(), now);
            let uid = uid::of_object("cv", name);
            insights.push(Insight { uid, acquired_at: now, detail: Detail::ClusterVersion(status) });
            let facts = health::Facts {
                crd: self.crds.get(CLUSTER_VERSION_CRD),
                kubernetes_minor: self.kubernetes_minor,
                progress: progress.as_ref(),
                version_pods: &version_pods,
                workers_lag: self.workers_lag,
                ..health::Facts::of(cluster_version)
            };
            health::of_cluster_version(&facts, &mut findings);
            if name == CLUSTER_VERSION && facts.is_of_update() {
                let since = assess::cluster_version::alerts_count_since(cluster_version);
                let alerts = self.alerts.as_deref().unwrap_or_default();
                health::of_alerts(alerts, since, &mut findings);
            }
        }
        for operator in self.operators.of_payload() {
            health::of_operator(operator, &mut findings);
        }
        let health::Outcome { insights: health, look_again } = findings.done();
        insights.extend(health);
        self.look_again = look_again;
        insights
    }

    /// How far the operators are, if it is them that this ClusterVersion tells of.
    fn progress(&self, cluster_version: &Object, now: Time) -> Option<Progress> {
        let is_it = cluster_version.name() == CLUSTER_VERSION;
        let image = image(&self.operator_images).unwrap_or_default();
        is_it.then(|| Progress::of(cluster_version, self.operators.all(), image, now))?
    }
}

/// The image of the machine-config operator, by its Deployment.
fn image(deployments: &Cache<Option<String>>) -> Option<&str> {
    deployments.get(MACHINE_CONFIG_OPERATOR).and_then(Option::as_deref)
}

/// Has an informer take over what an earlier process left.
fn begin(informer: &mut Informer, config_map: &Mirror<Data>, singleton: &Singleton) {
    if informer.has_begun() {
        return;
    }
    match config_map.get() {
        Some((_, data)) => informer.begin(Some(&data.texts)),
        None => informer.adopt(singleton.insights(informer.name).unwrap_or_default()),
    }
}

mod config_map;
#[cfg(test)]
mod tests;

pub(super) use config_map::Data;
