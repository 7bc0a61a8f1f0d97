//! Operators in the manifests of a payload.

use serde::Deserialize;
use serde_json::{Value, json};
use windtunnel_core::condition::Condition;

use super::{Account, Component, OperatorFacts, Release};
use crate::payload::{Manifest, Payload};

/// The rollout duration of operators without facts, in seconds.
const ROLLOUT_SECONDS: (u64, u64) = (20, 60);
/// Variables in Deployments with the operator's version, the preferred one first.
const VERSION_VARIABLES: [&str; 2] = ["RELEASE_VERSION", "OPERATOR_IMAGE_VERSION"];

/// A condition with an operator's own text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnCondition {
    /// The platforms with this text (`PlatformType` of openshift/api). If empty, all platforms that no other
    /// text of this condition names.
    #[serde(default)]
    pub platforms: Vec<String>,
    /// Type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its status.
    pub status: String,
    /// Its reason, which may be empty.
    #[serde(default)]
    pub reason: String,
    /// Its message, which may be empty. `{version}` is replaced by the operator's version.
    #[serde(default)]
    pub message: String,
}

/// One component per ClusterOperator manifest in the payload. Facts of `release` add properties that
/// manifests do not contain.
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
        let is_duplicate = |other: &Component| {
            other.operator.as_ref().is_some_and(|o| o.cluster_operator == operator.cluster_operator)
        };
        if !components.iter().any(is_duplicate) {
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

/// The operator that a ClusterOperator's manifest and the related manifests define.
fn operator<'a>(
    manifest: &Manifest,
    payload: &Payload,
    known: impl Fn(&str) -> Option<&'a OperatorFacts>,
) -> OperatorFacts {
    let name = manifest.object["metadata"]["name"].as_str().unwrap_or_default();
    let deployment = deployment(manifest, payload);
    let text = |manifest: Option<&Manifest>, pointer: &str| {
        let found = manifest.and_then(|manifest| manifest.object.pointer(pointer)).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let namespace = text(deployment, "/metadata/namespace");
    let account = text(deployment, "/spec/template/spec/serviceAccountName");
    let account = if account.is_empty() { "default".to_owned() } else { account };
    let bound = deployment.is_some() && is_bound(payload, &namespace, &account);
    OperatorFacts {
        cluster_operator: name.to_owned(),
        deployment: text(deployment, "/metadata/name"),
        operands: Vec::new(),
        rollout_seconds: known(name).map_or(ROLLOUT_SECONDS, |operator| operator.rollout_seconds),
        says: known(name).map_or_else(Vec::new, |operator| operator.says.clone()),
        versions: Some(versions(&manifest.object)),
        related_objects: Some(related_objects(&manifest.object)),
        account: if bound { Account::Named(account) } else { Account::Unknown },
        namespace,
    }
}

impl OperatorFacts {
    /// `status.relatedObjects`: from its manifest, or else its namespace. Null if its manifest has none.
    pub fn related_objects(&self) -> Value {
        let of_facts = || json!([{ "group": "", "resource": "namespaces", "name": self.namespace }]);
        self.related_objects.clone().unwrap_or_else(of_facts)
    }

    /// The conditions that a healthy operator reports with texts of its own, on a platform and at a version.
    pub fn own_conditions(&self, platform: &str, version: &str) -> impl Iterator<Item = Condition> {
        let names_platform =
            move |condition: &OwnCondition| condition.platforms.iter().any(|name| name == platform);
        let applies = move |condition: &&OwnCondition| {
            let mut same_type = self.says.iter().filter(|other| other.kind == condition.kind);
            names_platform(condition) || condition.platforms.is_empty() && !same_type.any(names_platform)
        };
        self.says.iter().filter(applies).map(move |condition| {
            Condition::new(
                &condition.kind,
                &condition.status,
                &condition.reason,
                condition.message.replace("{version}", version),
            )
        })
    }
}

/// The Deployment of an operator: that of its component with a version variable.
fn deployment<'p>(manifest: &Manifest, payload: &'p Payload) -> Option<&'p Manifest> {
    let is_operator_deployment = |deployment: &&Manifest| {
        deployment.object["kind"] == "Deployment"
            && deployment.component == manifest.component
            && version_in(&deployment.object).is_some()
    };
    payload.manifests.iter().find(is_operator_deployment)
}

/// The operator's version in the environment of a Deployment.
pub fn version_in(deployment: &Value) -> Option<&str> {
    let containers = deployment.pointer("/spec/template/spec/containers")?.as_array()?;
    let variables = || containers.iter().filter_map(|container| container["env"].as_array()).flatten();
    VERSION_VARIABLES
        .iter()
        .find_map(|name| variables().find(|variable| variable["name"] == *name)?["value"].as_str())
}

/// `status.relatedObjects` of a ClusterOperator's manifest, or null. Group, resource and name are empty where
/// the manifest omits them, because the operators write typed objects.
pub fn related_objects(cluster_operator: &Value) -> Value {
    let Some(list) = cluster_operator["status"]["relatedObjects"].as_array() else { return Value::Null };
    let mut list = list.clone();
    for object in list.iter_mut().filter_map(Value::as_object_mut) {
        for field in ["group", "resource", "name"] {
            let value = object.entry(field).or_insert(Value::Null);
            if value.is_null() {
                *value = json!("");
            }
        }
    }
    Value::Array(list)
}

fn versions(cluster_operator: &Value) -> Vec<(String, String)> {
    let list = cluster_operator["status"]["versions"].as_array();
    let pairs = list.into_iter().flatten();
    pairs
        .filter_map(|entry| Some((entry["name"].as_str()?.to_owned(), entry["version"].as_str()?.to_owned())))
        .collect()
}

/// Returns whether a ClusterRoleBinding of the payload has this ServiceAccount as a subject.
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
