//! The operators of a payload: what its manifests tell of them.

use serde::Deserialize;
use serde_json::{Value, json};
use windtunnel_core::condition::Condition;

use super::{Account, Component, Operator, Release};
use crate::payload::{Manifest, Payload};

/// How long operators take that no facts are known of, in seconds.
const ROLLOUT_SECONDS: (u64, u64) = (20, 60);
/// Variables in which Deployments tell an operator its version, the best first.
const VERSION_VARIABLES: [&str; 2] = ["RELEASE_VERSION", "OPERATOR_IMAGE_VERSION"];

/// A condition that an operator says in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The platforms where it does (`PlatformType` of openshift/api); none: wherever no other condition of the type is for the
    /// platform.
    #[serde(default)]
    pub platforms: Vec<String>,
    /// Type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its status.
    pub status: String,
    /// Its reason; may be empty.
    #[serde(default)]
    pub reason: String,
    /// Its message, in which `{version}` stands for the operator's version; may be empty.
    #[serde(default)]
    pub message: String,
}

/// One component for each ClusterOperator that the payload has a manifest of, and the operator's own, by the facts of
/// `release` where they know it.
pub(super) fn components(release: &Release, payload: &Payload) -> Vec<Component> {
    let known = |name: &str| release.operator(name);
    let is_operator = |manifest: &&Manifest| {
        manifest.object["kind"] == "ClusterOperator"
            && manifest.object["apiVersion"]
                .as_str()
                .is_some_and(|api| api.starts_with("config.openshift.io/"))
    };
    let mut components: Vec<Component> = Vec::new();
    for manifest in payload.manifests.iter().filter(is_operator) {
        let operator = operator(manifest, payload, known);
        let twice = |other: &Component| {
            other.operator.as_ref().is_some_and(|o| o.cluster_operator == operator.cluster_operator)
        };
        if !components.iter().any(twice) {
            components.push(Component {
                name: manifest.component.clone(),
                run_level: manifest.run_level.parse().unwrap_or(0),
                manifests: 0,
                capabilities: manifest.capabilities(),
                crds: Vec::new(),
                previews: Vec::new(),
                objects: Vec::new(),
                operator: Some(operator),
            });
        }
    }
    components
}

/// What a ClusterOperator's manifest and its neighbours tell of an operator.
fn operator<'a>(
    manifest: &Manifest,
    payload: &Payload,
    known: impl Fn(&str) -> Option<&'a Operator>,
) -> Operator {
    let name = manifest.object["metadata"]["name"].as_str().unwrap_or_default();
    let deployment = deployment(manifest, payload);
    let text = |of: Option<&Manifest>, pointer: &str| {
        let found = of.and_then(|manifest| manifest.object.pointer(pointer)).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let namespace = text(deployment, "/metadata/namespace");
    let account = text(deployment, "/spec/template/spec/serviceAccountName");
    let account = if account.is_empty() { "default".to_owned() } else { account };
    let bound = deployment.is_some() && is_bound(payload, &namespace, &account);
    Operator {
        cluster_operator: name.to_owned(),
        deployment: text(deployment, "/metadata/name"),
        operands: Vec::new(),
        rollout_seconds: known(name).map_or(ROLLOUT_SECONDS, |operator| operator.rollout_seconds),
        says: known(name).map_or_else(Vec::new, |operator| operator.says.clone()),
        versions: Some(versions(&manifest.object)),
        related_objects: Some(manifest.object["status"]["relatedObjects"].clone()),
        account: if bound { Account::Named(account) } else { Account::Unknown },
        namespace,
    }
}

impl Operator {
    /// `status.relatedObjects`: by its manifest, or the namespace that it runs in; null where there are none.
    pub fn related_objects(&self) -> Value {
        let of_facts = || json!([{ "group": "", "resource": "namespaces", "name": self.namespace }]);
        self.related_objects.clone().unwrap_or_else(of_facts)
    }

    /// What it says in its own words on a platform, at a version, when all is well.
    pub fn own_words(&self, platform: &str, version: &str) -> impl Iterator<Item = Condition> {
        let names = move |said: &&Said| said.platforms.iter().any(|name| name == platform);
        let counts = move |said: &&Said| {
            let for_others = || self.says.iter().any(|other| other.kind == said.kind && names(&other));
            names(said) || said.platforms.is_empty() && !for_others()
        };
        self.says.iter().filter(counts).map(move |said| {
            Condition::new(&said.kind, &said.status, &said.reason, said.message.replace("{version}", version))
        })
    }
}

/// The Deployment of an operator: of those of its component the one that is told a version.
fn deployment<'p>(manifest: &Manifest, payload: &'p Payload) -> Option<&'p Manifest> {
    let told = |deployment: &&Manifest| {
        deployment.object["kind"] == "Deployment"
            && deployment.component == manifest.component
            && version_in(&deployment.object).is_some()
    };
    payload.manifests.iter().find(told)
}

/// The version that a Deployment tells its program.
pub fn version_in(deployment: &Value) -> Option<&str> {
    let containers = deployment.pointer("/spec/template/spec/containers")?.as_array()?;
    let variables = || containers.iter().filter_map(|container| container["env"].as_array()).flatten();
    VERSION_VARIABLES
        .iter()
        .find_map(|name| variables().find(|variable| variable["name"] == *name)?["value"].as_str())
}

fn versions(cluster_operator: &Value) -> Vec<(String, String)> {
    let list = cluster_operator["status"]["versions"].as_array();
    let pairs = list.into_iter().flatten();
    pairs
        .filter_map(|entry| Some((entry["name"].as_str()?.to_owned(), entry["version"].as_str()?.to_owned())))
        .collect()
}

/// Whether a ClusterRoleBinding of the payload names this ServiceAccount.
fn is_bound(payload: &Payload, namespace: &str, account: &str) -> bool {
    let subjects = payload
        .manifests
        .iter()
        .filter(|manifest| manifest.object["kind"] == "ClusterRoleBinding")
        .filter_map(|binding| binding.object["subjects"].as_array());
    subjects.flatten().any(|subject| {
        subject["kind"] == "ServiceAccount" && subject["name"] == account && subject["namespace"] == namespace
    })
}
