//! A release's payload as manifests: what the operator applies, in order.
//!
//! CRDs, Deployments, ClusterOperators and what lets operators work are modelled one by one and really written. The rest of a component stands
//! as a count of manifests that take their time and are not written.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::behaviour::Behaviour;
use super::capabilities::Capabilities;
use super::lease::NAMESPACE;
use super::{access, version_pod};
use crate::base::text::hex;
use crate::model::manifests;
use crate::model::release::{Component, Operator, Release};
use crate::model::{Resource, resources};

/// The text in our manifests that stands for the image of the release.
const RELEASE_IMAGE: &str = "RELEASE_IMAGE";

/// One or several manifests of a component.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Task {
    /// Manifests that are only counted.
    Counted(u32),
    /// An object to be written.
    Object(Resource, Box<Value>),
    /// A ClusterOperator to be created before anything else of its component, if it is not there yet. Its manifest is
    /// counted where it is waited for.
    Precreate(Box<Value>),
    /// A ClusterOperator to wait for.
    ClusterOperator(Operator),
}

/// The manifests of one component, applied one after the other.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Run level.
    pub(super) run_level: u8,
    /// Its facts.
    pub(super) component: Component,
    /// What to do.
    pub(super) tasks: Vec<Task>,
}

/// All manifests of a release for a cluster with this feature set, in order of run level and component.
#[derive(Debug, Clone)]
pub(super) struct Payload {
    /// Components in order.
    pub(super) nodes: Vec<Node>,
    /// How many manifests there are in all.
    pub(super) total: u32,
}

impl Payload {
    /// Loads the payload of `release`.
    pub(super) fn load(release: &Release, feature_set: &str) -> Self {
        let mut nodes: Vec<Node> = release
            .components
            .iter()
            .map(|component| Node {
                run_level: component.run_level,
                component: component.clone(),
                tasks: tasks(release, component, feature_set),
            })
            .collect();
        if feature_set == "DevPreviewNoUpgrade" {
            nodes.insert(1.min(nodes.len()), update_status_controller(release));
        }
        let total = nodes.iter().flat_map(|node| &node.tasks).map(Task::manifests).sum();
        Self { nodes, total }
    }
}

impl Task {
    /// For how many manifests it stands.
    pub(super) fn manifests(&self) -> u32 {
        match self {
            Self::Counted(count) => *count,
            Self::Precreate(_) => 0,
            Self::Object(..) | Self::ClusterOperator(_) => 1,
        }
    }
}

/// The objects that a cluster installed at `release` has from its payload, in the order they are applied. Components
/// whose capabilities are not enabled are left out.
pub fn installed_objects(
    release: &Release,
    feature_set: &str,
    cluster_version: &Value,
) -> Vec<(Resource, Value)> {
    let capabilities = Capabilities::at_start(release, cluster_version);
    let nodes = Payload::load(release, feature_set).nodes.into_iter();
    nodes
        .filter(|node| capabilities.include(&node.component))
        .flat_map(|node| node.tasks)
        .filter_map(|task| match task {
            Task::Object(resource, object) => Some((resource, *object)),
            Task::Counted(_) | Task::Precreate(_) | Task::ClusterOperator(_) => None,
        })
        .collect()
}

/// The ClusterOperators of `release` whose components are applied in a cluster with this ClusterVersion.
pub fn installed_operators(release: &Release, cluster_version: &Value) -> Vec<Operator> {
    let capabilities = Capabilities::at_start(release, cluster_version);
    let included = release.components.iter().filter(|component| capabilities.include(component));
    included.filter_map(|component| component.operator.clone()).collect()
}

fn tasks(release: &Release, component: &Component, feature_set: &str) -> Vec<Task> {
    let minor = release.version.minor;
    let mut tasks = Vec::new();
    tasks.extend(
        component.operator.as_ref().map(|operator| Task::Precreate(Box::new(cluster_operator(operator)))),
    );
    tasks.extend(
        component
            .crds
            .iter()
            .filter_map(|name| manifests::crd_with(name, minor, feature_set))
            .map(|crd| Task::Object(resources::CUSTOM_RESOURCE_DEFINITIONS, Box::new(crd))),
    );
    let mut own: Vec<Task> = component.operator.as_ref().map(surroundings).unwrap_or_default();
    if component.name == super::NAME {
        tasks.extend(own_deployment(release));
        own.extend(payload_account(release));
    }
    // The facts count these among the rest.
    let counted = component.manifests.saturating_sub(u32::try_from(own.len()).unwrap_or(u32::MAX));
    tasks.extend(own);
    if counted > 0 {
        tasks.push(Task::Counted(counted));
    }
    if let Some(operator) = &component.operator {
        let object = deployment(release, operator);
        tasks.push(Task::Object(resources::DEPLOYMENTS, Box::new(object)));
        tasks.push(Task::ClusterOperator(operator.clone()));
    }
    tasks
}

/// A ClusterOperator as the payload's manifest has it, without status.
pub fn cluster_operator(operator: &Operator) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {
            "name": operator.cluster_operator,
            "annotations": { "include.release.openshift.io/self-managed-high-availability": "true" },
        },
        "spec": {},
    })
}

/// What an operator finds when it starts: its Namespace, and what lets it do its work.
fn surroundings(operator: &Operator) -> Vec<Task> {
    let access = access::objects(operator).into_iter();
    let access = access.map(|(resource, object)| Task::Object(resource, Box::new(object)));
    std::iter::once(namespace(&operator.namespace)).chain(access).collect()
}

fn namespace(name: &str) -> Task {
    let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    Task::Object(resources::NAMESPACES, Box::new(object))
}

/// What version pods run as, in releases that have it.
fn payload_account(release: &Release) -> Option<Task> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": version_pod::ACCOUNT, "namespace": NAMESPACE },
    });
    let has_it = Behaviour::of(release).has_payload_account;
    has_it.then(|| Task::Object(resources::SERVICE_ACCOUNTS, Box::new(object)))
}

fn own_deployment(release: &Release) -> Option<Task> {
    let is_own =
        |object: &&Value| object["kind"] == "Deployment" && object["metadata"]["name"] == super::NAME;
    let template = manifests::objects("base").iter().find(is_own)?;
    Some(Task::Object(resources::DEPLOYMENTS, Box::new(with_image(template.clone(), &release.image))))
}

fn update_status_controller(release: &Release) -> Node {
    let objects = manifests::objects("update-status-controller").iter();
    let tasks = objects.filter_map(|object| {
        let resource = resources::of(object)?;
        Some(Task::Object(resource.clone(), Box::new(with_image(object.clone(), &release.image))))
    });
    Node {
        run_level: 0,
        component: Component {
            name: "update-status-controller".to_owned(),
            run_level: 0,
            manifests: 0,
            capabilities: Vec::new(),
            crds: Vec::new(),
            operator: None,
        },
        tasks: tasks.collect(),
    }
}

/// Puts the release's image where the manifest has its placeholder, in images and arguments.
fn with_image(mut object: Value, image: &str) -> Value {
    let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let arguments = container.get_mut("args").and_then(Value::as_array_mut).into_iter().flatten();
        arguments.for_each(|argument| fill(argument, image));
        if let Some(text) = container.get_mut("image") {
            fill(text, image);
        }
    }
    object
}

fn fill(text: &mut Value, image: &str) {
    if let Value::String(text) = text {
        *text = text.replace(RELEASE_IMAGE, image);
    }
}

/// The Deployment of an operator: an image of its own, and the release's version in `RELEASE_VERSION`, from which an
/// operator learns what it is to report.
fn deployment(release: &Release, operator: &Operator) -> Value {
    let version = release.version.to_string();
    let digest = hex(&Sha256::digest(format!("{} {version}", operator.deployment)));
    let image = format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{digest}");
    let labels = json!({ "name": operator.deployment });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": operator.deployment, "namespace": operator.namespace },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{
                    "name": operator.deployment,
                    "image": image,
                    "env": [{ "name": "RELEASE_VERSION", "value": version }],
                }] },
            },
        },
    })
}
