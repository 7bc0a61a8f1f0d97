//! The objects of a payload that a cluster has when its installation is complete.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::{Key, Resource, name_of, resources, text_of as text};

use super::capabilities::Capabilities;
use super::payload::{ApplyRule, Payload, Task, TaskKind, cluster_operator};
use super::sync::inject::{self, Surroundings};
use super::sync::manifest;
use crate::manifests;
use crate::payload::Selection;
use crate::release::{OperatorFacts, Release};

/// Schemas that an installer creates before the operator runs, because the cluster needs them: its operator,
/// its nodes or its monitoring use them.
const BOOTSTRAPPED: [&str; 8] = [
    "clusterversions.config.openshift.io",
    "clusteroperators.config.openshift.io",
    "featuregates.config.openshift.io",
    "apiservers.config.openshift.io",
    "infrastructures.config.openshift.io",
    "proxies.config.openshift.io",
    "prometheusrules.monitoring.coreos.com",
    "servicemonitors.monitoring.coreos.com",
];

/// The payload that a cluster was installed with, and its enabled capabilities.
#[derive(Debug)]
pub struct InstalledPayload<'r> {
    release: &'r Release,
    payload: Payload,
    capabilities: Capabilities,
    /// Schemas from the installer that the payload lacks. The operator does not apply them.
    bootstrapped: Vec<Arc<Value>>,
}

impl<'r> InstalledPayload<'r> {
    /// The payload of `release` for a cluster with this feature set and the capabilities in the spec of
    /// `cluster_version`. Feature gates are not enabled, because they become known only later.
    pub fn of(release: &'r Release, feature_set: &str, cluster_version: &Value) -> Self {
        let selection = Selection {
            feature_set: feature_set.to_owned(),
            feature_gates: Vec::new(),
            major: release.version.major,
        };
        let payload = Payload::load(release, selection);
        let objects = || payload.tasks.iter().filter_map(Task::object);
        let is_missing =
            |name: &&str| !objects().any(|object| is_definition(object) && name_of(object) == *name);
        let lacks = BOOTSTRAPPED.into_iter().filter(is_missing);
        let bootstrapped =
            lacks.filter_map(|name| manifests::crd_with(name, release.line(), feature_set)).collect();
        let capabilities = Capabilities::at_start(release, feature_set, cluster_version);
        Self { release, payload, capabilities, bootstrapped }
    }

    /// The tasks whose capabilities are enabled.
    fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.payload.tasks.iter().filter(|task| self.capabilities.include(&task.place.capabilities))
    }

    /// The CustomResourceDefinition with this name.
    pub fn definition(&self, name: &str) -> Option<&Value> {
        self.definitions().find(|object| object["metadata"]["name"] == name)
    }

    fn definitions(&self) -> impl Iterator<Item = &Value> {
        let objects = self.payload.tasks.iter().filter_map(Task::object);
        objects.chain(self.bootstrapped.iter().map(|object| &**object)).filter(|object| is_definition(object))
    }

    /// The objects in the order in which they are applied, owned by `cluster_version` and with values of
    /// `around` injected, after the installer's schemas. Objects of unknown kinds are omitted.
    pub fn objects(&self, cluster_version: &Value, around: Surroundings<'_>) -> Vec<(Resource, Value)> {
        let definitions: Vec<&Value> = self.definitions().collect();
        let owned = |task: &Task| match &task.what {
            TaskKind::Object(wanted) if wanted.rule != ApplyRule::Delete => {
                let resource = wanted.resource_among(definitions.iter().copied())?;
                // If injection fails, the operator reports that later.
                let object = inject::into(&wanted.object, around).unwrap_or(Cow::Borrowed(&wanted.object));
                Some((resource, manifest::owned(&object, cluster_version, wanted.rule)))
            }
            _ => None,
        };
        let bootstrapped = self.bootstrapped.iter().map(|object| Value::clone(object));
        let bootstrapped = bootstrapped.map(|object| (resources::CUSTOM_RESOURCE_DEFINITIONS, object));
        bootstrapped.chain(self.tasks().filter_map(owned)).collect()
    }

    /// Whether a manifest of the payload has the object of this kind with this key, whatever its capabilities are.
    pub fn has_manifest(&self, kind: &str, key: &Key) -> bool {
        self.payload.tasks.iter().filter_map(Task::object).any(|object| {
            let group = text(object, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
            let metadata = |field| text(&object["metadata"], field);
            text(object, "kind") == kind
                && group == key.group
                && metadata("namespace") == key.namespace
                && metadata("name") == key.name
        })
    }

    /// The operators whose ClusterOperators are among the manifests.
    pub fn operators(&self) -> impl Iterator<Item = &'r OperatorFacts> {
        let release = self.release;
        self.tasks().filter_map(move |task| {
            let TaskKind::ClusterOperator(operator) = &task.what else { return None };
            release.operator(name_of(&operator.object))
        })
    }
}

/// A ClusterOperator as in the payload's manifest, without status, owned by `cluster_version`.
pub fn installed_cluster_operator(operator: &OperatorFacts, cluster_version: &Value) -> Value {
    manifest::owned(&cluster_operator(operator), cluster_version, ApplyRule::Apply)
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}
