//! The workloads that operators create, such as the routers and the console, in clusters whose workloads have pods. An
//! operator brings back what others delete or scale, updates all of them at the beginning of its rollout, and does not
//! report another version before they have it.

mod workload;

use std::collections::BTreeSet;
use std::sync::Arc;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::workqueue::{Reconcile, WorkQueue};
use windtunnel_controllers::{Actor, Input, Interest, PayloadWorkloads, Step};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{self, DAEMON_SETS, DEPLOYMENTS, INFRASTRUCTURES};
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write};

use super::identity;
use crate::environment::Environment;
use crate::release::{self, OperatorFacts, Release};
use workload::{Site, Workload};

/// The controller of an operator's workloads.
#[derive(Debug, Clone)]
pub struct OperandController {
    name: String,
    facts: OperatorFacts,
    environment: Arc<Environment>,
    queue: WorkQueue,
    started: bool,
}

impl OperandController {
    /// The controller in the operator of `component` with these facts. `None` if the operator has no workloads, or if the
    /// workloads of this cluster have no pods.
    pub fn new(facts: &OperatorFacts, component: &str, environment: &Arc<Environment>) -> Option<Self> {
        let has_pods = environment.payload_workloads == PayloadWorkloads::InPods;
        (has_pods && exist(&facts.cluster_operator) && !facts.deployment.is_empty()).then(|| Self {
            // Each part of an operator restarts separately and needs its own name.
            name: format!("operator/{component}/operands"),
            facts: facts.clone(),
            environment: Arc::clone(environment),
            queue: WorkQueue::default(),
            started: false,
        })
    }

    fn deployment(&self) -> Key {
        DEPLOYMENTS.key(&self.facts.namespace, &self.facts.deployment)
    }
}

/// Whether an operator has workloads in any release.
pub(crate) fn exist(cluster_operator: &str) -> bool {
    workload::of(cluster_operator).next().is_some()
}

/// The images of all workloads of a release, for its own architecture.
pub fn images(release: &Release) -> impl Iterator<Item = String> {
    let components: BTreeSet<&str> = workload::all().flat_map(Workload::components).collect();
    components.into_iter().map(|component| release.image_of(component))
}

/// Whether all workloads of an operator have this release.
pub(super) fn are_rolled(cluster_operator: &str, release: &Release, view: &View) -> bool {
    let site = Site::of(view);
    let mut wanted = workload::of(cluster_operator).filter(|workload| workload.is_of(release, &site));
    wanted.all(|workload| {
        let manifest = workload.manifest(release, &site);
        view.get_key(&workload.key())
            .is_some_and(|found| differing(found, &manifest).is_none() && is_rolled(found))
    })
}

/// The interests in the workloads of an operator.
pub(super) fn interests(cluster_operator: &str) -> impl Iterator<Item = Interest> {
    let own =
        workload::of(cluster_operator).map(|workload| (workload.resource(), workload.namespace.clone()));
    let own: BTreeSet<_> = own.collect();
    own.into_iter().map(|(resource, namespace)| Interest::In(resource, namespace))
}

/// Whether a change can be of something that the controller decides. The status of a workload changes with each of its pods.
fn is_relevant(change: &Change) -> bool {
    let is_new = |old: &Object| old["spec"] != change.object["spec"];
    change.kind == ChangeKind::Deleted
        || change.key.is_kind(&INFRASTRUCTURES)
        || change.old.as_ref().is_none_or(is_new)
}

/// Whether this is a DaemonSet of an operator. The operator's report about nodes covers its missing pods.
pub(super) fn is_own_daemon_set(cluster_operator: &str, set: &Object) -> bool {
    workload::of(cluster_operator)
        .any(|workload| workload.key() == DAEMON_SETS.key(set.namespace(), set.name()))
}

/// Whether all pods of a workload are of its current template.
fn is_rolled(found: &Object) -> bool {
    let status = &found["status"];
    let updated = status["updatedReplicas"].as_i64().or(status["updatedNumberScheduled"].as_i64());
    let wanted = found["spec"]["replicas"].as_i64().or(status["desiredNumberScheduled"].as_i64());
    found.number("/status/observedGeneration") == Some(found.generation())
        && updated.unwrap_or(0) >= wanted.unwrap_or(0)
}

fn is_workload(object: &Value) -> bool {
    object["apiVersion"] == *DEPLOYMENTS.api_version()
}

/// The patch that gives a workload its images and its number of pods again. `None` if it has them.
fn differing(found: &Object, wanted: &Value) -> Option<Value> {
    let images = |value: &Value| -> Vec<Value> {
        let containers = value["spec"]["template"]["spec"]["containers"].as_array();
        containers.into_iter().flatten().map(|container| container["image"].clone()).collect()
    };
    let is_scaled =
        wanted["spec"].get("replicas").is_some_and(|replicas| *replicas != found["spec"]["replicas"]);
    (is_scaled || images(found) != images(wanted)).then(|| {
        let mut patch = json!({ "spec": { "template": wanted["spec"]["template"] } });
        if is_scaled {
            patch["spec"]["replicas"] = wanted["spec"]["replicas"].clone();
        }
        patch
    })
}

/// The write that creates an object, or makes it as wanted. `None` if it is.
fn write(object: Value, view: &View) -> Option<Write> {
    let resource = resources::find_for_object(&object)?;
    match view.get_key(&resource.key_of(&object)) {
        None => Some(Write::create(resource, object)),
        Some(found) if is_workload(&object) => {
            let patch = differing(found, &object)?;
            Some(Write::merge_patch(resource, found.namespace(), found.name(), patch))
        }
        Some(_) => None,
    }
}

/// The deletion of a workload that a release no longer has.
fn deletion(workload: &Workload, view: &View) -> Option<Write> {
    view.get_key(&workload.key())
        .filter(|found| !found.is_terminating())
        .map(|found| Write::delete(&workload.resource(), found.namespace(), found.name()))
}

impl Reconcile for OperandController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, _key: &Key, view: &View, _now: Time) -> Vec<Write> {
        let version = view.get_key(&self.deployment()).and_then(|deployment| release::version_in(deployment));
        let version = version.and_then(|version| Version::parse(version).ok());
        let Some(release) = version.and_then(|version| self.environment.payload_of(&version)) else {
            return Vec::new();
        };
        let site = Site::of(view);
        let mut seen = BTreeSet::new();
        let mut writes = Vec::new();
        let (wanted, others): (Vec<_>, Vec<_>) =
            workload::of(&self.facts.cluster_operator).partition(|workload| workload.is_of(release, &site));
        for workload in wanted {
            let objects = workload.objects(release, &site).into_iter();
            // Workloads share namespaces and accounts.
            let objects = objects.filter(|object| {
                resources::find_for_object(object)
                    .is_some_and(|resource| seen.insert(resource.key_of(object)))
            });
            writes.extend(objects.filter_map(|object| write(object, view)).collect::<Vec<_>>());
        }
        // A workload can differ between minors and keep its name.
        let others = others.into_iter().filter(|workload| !seen.contains(&workload.key()));
        writes.extend(others.filter_map(|workload| deletion(workload, view)));
        writes
    }
}

impl Actor for OperandController {
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
        [Interest::Object(self.deployment()), Interest::Object(INFRASTRUCTURES.key("", "cluster"))]
            .into_iter()
            .chain(interests(&self.facts.cluster_operator))
            .collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || input.changes.iter().any(is_relevant) {
            self.queue.add(self.deployment());
        }
        self.queue.process_answers(input.answers, input.now);
        self.reconcile(input)
    }
}

#[cfg(test)]
mod tests;
