//! A generic operator, driven by the facts of its release. It follows its Deployment to another version and
//! reports the rollout in its ClusterOperator.
//!
//! The wanted version is the variable `RELEASE_VERSION` of its Deployment. The duration of a rollout depends
//! on the seed, the operator and the version. A restarted operator resumes it: the target is in the message
//! of `Progressing`, and the start is that condition's `lastTransitionTime`. A rollout changes only
//! `Progressing`, the versions and `relatedObjects`. Missing conditions are added, and others keep the status
//! that another client set, unless an annotation sets a fault. Some operators also report feature sets,
//! kubelets, unready nodes or DaemonSets.
//!
//! `health.rs` has the effects of faults, `static_pods/` the static pods of the control plane.

mod backup;
mod daemon_sets;
mod feature_sets;
mod guards;
pub(super) mod health;
mod kubelet_skew;
mod operands;
mod proxy;
mod rollout;
mod static_pods;
#[cfg(test)]
mod tests;
mod unready_nodes;

use std::sync::Arc;

use jiff::SignedDuration;
use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::workqueue::WorkQueue;
use windtunnel_controllers::{Actor, Effect, Input, Interest, PayloadWorkloads, Step};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::cluster_operator::version_of;
use windtunnel_core::cluster_version::desired_version;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, FEATURE_GATES, INFRASTRUCTURES, NAMESPACES, NODES, PODS,
};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, Identity, Key, Object, View, Write};

use crate::environment::Environment;
use crate::release::{self, Account, Release};
pub use backup::{BackupController, LAST_MINOR as LAST_MINOR_WITH_BACKUPS};
use daemon_sets::DaemonSets;
pub use guards::{ETCD, GuardController};
use health::{FaultReport, Pace};
use kubelet_skew::Kubelets;
pub(super) use operands::exist as has_operands;
pub use operands::{OperandController, images as operand_images};
pub use proxy::{NETWORK, ProxyController, proxy_status};
use rollout::{progress, rollout_in, set_conditions};
use static_pods::Operand;
pub use static_pods::{installed_static_pods, operand_namespaces, static_pod_images};
use unready_nodes::Nodes;

/// How long the network operator waits for progress of a rollout (`ProgressTimeout`).
const PROGRESS_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// The name in `status.versions` of the release that an operator has reached.
const OPERATOR: &str = "operator";

/// The operator behind one `ClusterOperator`.
#[derive(Debug, Clone)]
pub struct Operator {
    name: String,
    facts: release::OperatorFacts,
    environment: Arc<Environment>,
    streams: Streams,
    queue: WorkQueue,
    /// The version being rolled out and the start of the rollout, if this process has seen it.
    rollout: Option<(String, Time)>,
    /// The static pods that it manages on control-plane nodes, if any.
    operand: Option<&'static Operand>,
    /// The kubelets, in the operator that checks their versions.
    kubelets: Kubelets,
    /// The nodes of its pods.
    nodes: Nodes,
    /// The DaemonSets that it reports, if any.
    daemon_sets: Option<DaemonSets>,
    started: bool,
}

impl Operator {
    /// The operator of `component` with these facts. A version in `environment` is rolled out by the facts of its
    /// release, any other by `facts`.
    pub fn new(
        facts: &release::OperatorFacts,
        component: &str,
        environment: Arc<Environment>,
        streams: &Streams,
    ) -> Self {
        Self {
            name: format!("operator/{component}"),
            facts: facts.clone(),
            environment,
            streams: *streams,
            queue: WorkQueue::default(),
            rollout: None,
            operand: Operand::of(&facts.cluster_operator),
            kubelets: Kubelets::default(),
            nodes: Nodes::of(&facts.cluster_operator),
            daemon_sets: DaemonSets::of(&facts.cluster_operator),
            started: false,
        }
    }

    fn key(&self) -> Key {
        CLUSTER_OPERATORS.key("", &self.facts.cluster_operator)
    }

    /// Collects the writes for now. The end of a rollout can have effects outside the API.
    fn sync(&mut self, view: &View, now: Time, step: &mut Step) {
        let Some(wanted) = self.wanted_version(view) else { return };
        let Some(object) = view.get_key(&self.key()) else {
            let object = json!({
                "apiVersion": CLUSTER_OPERATORS.api_version(),
                "kind": CLUSTER_OPERATORS.kind,
                "metadata": { "name": self.facts.cluster_operator },
                "spec": {},
            });
            return self.send(Write::create(&CLUSTER_OPERATORS, object), step);
        };
        let health = FaultReport::from_annotations(object);
        if health.as_ref().is_some_and(FaultReport::is_silent) {
            // A silent operator still rolls out.
            self.roll_out_static_pods(&wanted, rollout_in(object), view, now, step);
            if let Some(silenced) = FaultReport::silenced(object) {
                self.send(Write::update_status(&CLUSTER_OPERATORS, silenced), step);
            }
            return;
        }
        let findings = self.examine_daemon_sets(view, now);
        let pace = match &health {
            _ if findings.hold_back() || self.nodes.hold_back() => Pace::Never,
            Some(health) => health.pace(object),
            None => Pace::Seeded,
        };
        let mut next = self.roll_out(object, &wanted, pace, view, now, step);
        let reports_feature_sets = feature_sets::may_report(&self.facts.cluster_operator);
        if reports_feature_sets || health.is_some() {
            let rejection = self.release(&wanted).and_then(|release| self.rejection(release, view));
            let rolled = next.is_some();
            let mut value = next.unwrap_or_else(|| object.to_value());
            let changed = match &health {
                Some(health) => {
                    let is_own = |condition: &Condition| self.is_own_report(condition);
                    health.report(rejection.as_ref(), is_own, &mut value, now)
                }
                None => feature_sets::report(rejection.as_ref(), &mut value, now),
            };
            self.recheck_at(health.as_ref().and_then(|health| health.changes_at(now)));
            next = (rolled || changed).then_some(value);
        }
        let is_free = |kind: &str| health.as_ref().is_none_or(|health| !health.decides(kind));
        let line = self.release(&wanted).map_or((0, 0), Release::line);
        next = self.report_nodes(object, next, is_free, line, view, now);
        next = self.report_daemon_sets(&findings, object, next, is_free, now);
        if let Some(mut value) = next {
            self.set_own_messages(&mut value, view, now);
            // A report can replace that of a healed fault: the status stays the same then.
            condition::keep_transitions(&mut value["status"]["conditions"], &object["status"]["conditions"]);
            if value["status"] != object["status"] {
                self.send(Write::update_status(&CLUSTER_OPERATORS, value), step);
            }
        }
    }

    /// Continues the rollout of `wanted`. Returns the object with its new status, if it changes.
    fn roll_out(
        &mut self,
        object: &Object,
        wanted: &str,
        pace: Pace,
        view: &View,
        now: Time,
        step: &mut Step,
    ) -> Option<Value> {
        let under_way = rollout_in(object);
        if under_way.is_none() && reported_version(object) == Some(wanted) {
            self.rollout = None;
            return None;
        }
        let end = after(self.rollout_start(under_way, wanted, now), self.duration(wanted));
        let is_through = pace != Pace::Never
            && self.roll_out_static_pods(wanted, under_way, view, now, step)
            && self.has_rolled_operands(wanted, view);
        if !is_through || pace == Pace::Seeded && end > now {
            self.recheck_at(Some(end).filter(|end| pace == Pace::Seeded && *end > now));
            step.why = format!("the rollout of {} {wanted}", self.facts.cluster_operator).into();
            let begins = under_way.is_none_or(|(target, _)| target != wanted);
            return begins.then(|| progress(object, wanted, now));
        }
        if let Some(minor) = self.kubernetes_minor_served(wanted) {
            step.effects.push(Effect::ServeKubernetes { minor });
        }
        Some(self.finish(object, wanted, now))
    }

    /// Continues the rollout of its static pods, if it has any. Returns whether all of them have version
    /// `wanted`.
    fn roll_out_static_pods(
        &mut self,
        wanted: &str,
        under_way: Option<(&str, Time)>,
        view: &View,
        now: Time,
        step: &mut Step,
    ) -> bool {
        let Some(operand) = self.operand else { return true };
        let times = (self.rollout_start(under_way, wanted, now), self.duration(wanted));
        let Some(release) = self.release(wanted) else { return true };
        let rollout = operand.roll_out(release, times, view, now);
        self.recheck_at(rollout.recheck_at);
        if rollout.effect.is_some() && view.get(&NAMESPACES, "", operand.namespace).is_none() {
            self.send(operand.namespace(), step);
        }
        step.effects.extend(rollout.effect);
        rollout.is_through
    }

    /// Whether its workloads have pods.
    fn has_pods(&self) -> bool {
        self.environment.payload_workloads == PayloadWorkloads::InPods
    }

    /// Returns whether all its workloads have version `wanted`, in clusters whose workloads have pods.
    fn has_rolled_operands(&self, wanted: &str, view: &View) -> bool {
        let release = self.release(wanted).filter(|_| self.has_pods());
        release.is_none_or(|release| operands::are_rolled(&self.facts.cluster_operator, release, view))
    }

    /// Whether a condition is its own report about nodes or DaemonSets, not that of an injected fault.
    fn is_own_report(&self, condition: &Condition) -> bool {
        self.nodes.is_own(condition) || self.daemon_sets.is_some() && daemon_sets::is_own(condition)
    }

    /// The Upgradeable condition that is not True, if there is one.
    fn rejection(&self, release: &Release, view: &View) -> Option<Condition> {
        let operator = &self.facts.cluster_operator;
        let rejections = [feature_sets::rejection(operator, release, view), self.kubelets.rejection(release)];
        rejections.into_iter().flatten().reduce(feature_sets::merge_refusals)
    }

    /// Returns whether it checks the versions of kubelets.
    fn watches_kubelets(&self) -> bool {
        self.facts.cluster_operator == "kube-apiserver"
    }

    /// Schedules another run at this time, unless one is due earlier.
    fn recheck_at(&mut self, at: Option<Time>) {
        if let Some(at) = at.filter(|at| self.queue.next().is_none_or(|next| *at < next)) {
            self.queue.add_at(self.key(), at);
        }
    }

    /// The version in its Deployment. Without a Deployment in the payload, the desired version of the cluster
    /// once its ClusterOperator exists.
    fn wanted_version(&self, view: &View) -> Option<String> {
        if self.facts.deployment.is_empty() {
            view.get_key(&self.key())?;
            let version = desired_version(view.cluster_version()?);
            return self.has_facts(version).then(|| version.to_owned());
        }
        let deployment = view.get(&DEPLOYMENTS, &self.facts.namespace, &self.facts.deployment)?;
        release::version_in(deployment).map(str::to_owned)
    }

    /// Returns whether the release of this version has this operator.
    fn has_facts(&self, version: &str) -> bool {
        self.release(version).is_some_and(|release| release.operator(&self.facts.cluster_operator).is_some())
    }

    fn send(&mut self, write: Write, step: &mut Step) {
        let key = self.key();
        self.queue.send(&key, write, &mut step.writes);
    }

    /// The start of the rollout to `wanted`: as this process saw it, as its predecessor wrote it, or now.
    fn rollout_start(&mut self, under_way: Option<(&str, Time)>, wanted: &str, now: Time) -> Time {
        match &self.rollout {
            Some((target, start)) if target == wanted => *start,
            seen => {
                let inherited = under_way
                    .filter(|(target, _)| seen.is_none() && *target == wanted)
                    .map(|(_, start)| start);
                let start = inherited.unwrap_or(now);
                self.rollout = Some((wanted.to_owned(), start));
                start
            }
        }
    }

    fn duration(&self, version: &str) -> SignedDuration {
        let (low, high) = self.facts_of(version).rollout_seconds;
        let name = format!("operator/{}/{version}", self.facts.cluster_operator);
        let seconds = self.streams.stream(&name).between(low, high.max(low));
        SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::from(u32::MAX)))
    }

    fn release(&self, version: &str) -> Option<&Release> {
        self.environment.payload_of(&Version::parse(version).ok()?)
    }

    fn facts_of(&self, version: &str) -> &release::OperatorFacts {
        let release = self.release(version);
        release.and_then(|release| release.operator(&self.facts.cluster_operator)).unwrap_or(&self.facts)
    }

    fn kubernetes_minor_served(&self, version: &str) -> Option<u32> {
        let release = self.release(version).filter(|_| self.facts.cluster_operator == "kube-apiserver")?;
        Some(release.kubernetes_minor)
    }

    /// The object after a completed rollout.
    fn finish(&self, object: &Object, version: &str, now: Time) -> Value {
        let versions = self.versions(version).into_iter();
        let versions = versions.map(|(name, version)| json!({ "name": name, "version": version }));
        let mut value = object.to_value();
        value["status"]["versions"] = versions.collect();
        let related = self.facts_of(version).related_objects();
        if related.is_array() {
            value["status"]["relatedObjects"] = related;
        }
        let message = format!("Deployed {version}");
        let progressing = Condition::new("Progressing", "False", health::WELL, message);
        set_conditions(&mut value, &progressing, &[("Available", "True"), ("Degraded", "False")], now);
        value
    }

    /// Sets reasons and messages of healthy conditions to the operator's own. A condition whose status
    /// another client changed is kept.
    fn set_own_messages(&self, value: &mut Value, view: &View, now: Time) {
        let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
        let platform = infrastructure.map_or("", |object| object.text("/status/platformStatus/type"));
        let Some(version) = reported_version(value).map(str::to_owned) else { return };
        let Some(list) = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut) else {
            return;
        };
        for own in self.facts_of(&version).own_conditions(platform, &version) {
            if condition::find(list, &own.kind).is_none_or(|found| found["status"] == *own.status) {
                condition::set(list, &own, now);
            }
        }
    }

    /// The versions to report, the operator's own last.
    fn versions(&self, version: &str) -> Vec<(String, String)> {
        let facts = self.facts_of(version);
        self.release(version).map_or_else(
            || {
                let names = facts.operands.iter().map(String::as_str).chain([OPERATOR]);
                names.map(|name| (name.to_owned(), version.to_owned())).collect()
            },
            |release| release.versions_of(facts),
        )
    }
}

impl Actor for Operator {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        identity(&self.facts)
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        Environment::replace(&mut self.environment, environment);
    }

    fn interests(&self) -> Vec<Interest> {
        let wanted = if self.facts.deployment.is_empty() {
            CLUSTER_VERSIONS.key("", "version")
        } else {
            DEPLOYMENTS.key(&self.facts.namespace, &self.facts.deployment)
        };
        let gates = feature_sets::may_report(&self.facts.cluster_operator)
            .then(|| Interest::Object(FEATURE_GATES.key("", "cluster")));
        let pods = self.operand.map(|operand| Interest::In(PODS, operand.namespace.to_owned()));
        let nodes = if self.watches_kubelets() { Some(Interest::Kind(NODES)) } else { self.nodes.interest() };
        let sets = self.daemon_sets.iter().flat_map(|_| DaemonSets::interests());
        let workloads = self.has_pods().then(|| operands::interests(&self.facts.cluster_operator));
        let more =
            gates.into_iter().chain(pods).chain(nodes).chain(sets).chain(workloads.into_iter().flatten());
        [Interest::Object(wanted), Interest::Object(self.key())].into_iter().chain(more).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) {
            if self.watches_kubelets() {
                self.kubelets = Kubelets::of(input.view);
            }
            self.nodes.begin(input.view);
            self.queue.add(self.key());
        }
        // Only kubelet versions and missing nodes are relevant changes of nodes.
        let kubelets_changed = self.watches_kubelets() && self.kubelets.notice(input.changes);
        self.notice_nodes(input.changes, input.now);
        self.notice_daemon_sets(input.changes, input.now);
        let is_other = |change: &Change| !change.key.is_kind(&NODES) && !self.is_of_daemon_sets(change);
        if kubelets_changed || input.changes.iter().any(is_other) {
            self.queue.add(self.key());
        }
        self.queue.process_answers(input.answers, input.now);
        let mut step = Step::default();
        if !self.queue.take_due(input.now).is_empty() {
            self.sync(input.view, input.now, &mut step);
        }
        step.wake_at = self.queue.next();
        step
    }
}

/// The identity of an operator with these facts.
pub(super) fn identity(facts: &release::OperatorFacts) -> Identity {
    match &facts.account {
        Account::OfDeployment => Identity::service_account(&facts.namespace, &facts.deployment),
        Account::Named(name) => Identity::service_account(&facts.namespace, name),
        Account::Unknown => Identity::admin(),
    }
}

fn reported_version(object: &Value) -> Option<&str> {
    version_of(object, OPERATOR)
}
