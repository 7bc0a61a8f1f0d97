//! Tasks of a release without real manifests. CRDs, Deployments, ClusterOperators and RBAC objects are
//! separate tasks. The other manifests of a component are one task that takes time and writes nothing.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::resources;

use super::{ApplyRule, ClusterOperatorTask, PayloadObject, Place, Task, TaskKind};
use crate::cvo::behaviour::Behaviour;
use crate::cvo::lease::NAMESPACE;
use crate::cvo::{NAME, access, capabilities};
use crate::manifests;
use crate::release::{Component, OperatorFacts, Release};

/// The Deployment of the machine-config operator.
const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";

/// The placeholder for the release image in our manifests.
const RELEASE_IMAGE: &str = "RELEASE_IMAGE";

/// The tasks of all components, ordered by run level and name.
pub(super) fn tasks(release: &Release, feature_set: &str) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (index, component) in release.components.iter().enumerate() {
        tasks.extend(component_tasks(release, component, feature_set));
        if index == 0 && feature_set == "DevPreviewNoUpgrade" {
            tasks.extend(update_status_controller(release));
        }
    }
    tasks
}

fn component_tasks(release: &Release, component: &Component, feature_set: &str) -> Vec<Task> {
    let place = Place::new(&format!("{:02}", component.run_level), &component.name, &component.capabilities);
    let crds = component.crds.iter().chain(&component.previews);
    let crds = crds.filter_map(|name| manifests::crd_with(name, release.line(), feature_set));
    let is_own = component.name == NAME && component.run_level == 0;
    let mut tasks: Vec<TaskKind> = is_own.then(own_namespace).flatten().into_iter().collect();
    let namespaces = tasks.len();
    tasks.extend(crds.map(object));
    let mut own: Vec<TaskKind> = component.operator.as_ref().map(surroundings).unwrap_or_default();
    if is_own {
        tasks.extend(own_deployment(release));
        own.extend(payload_account(release));
        own.extend(admin_gates(release));
    }
    let more = component.objects.iter().flat_map(|name| manifests::payload(name, release.line()));
    let more = more.filter(|object| is_included(object, feature_set));
    own.extend(more.cloned().map(object));
    // The component's number of manifests includes these.
    let known = u32::try_from(namespaces + own.len()).unwrap_or(u32::MAX);
    let counted = component.manifests.saturating_sub(known);
    tasks.extend(own);
    if counted > 0 {
        tasks.push(TaskKind::Counted(counted));
    }
    if let Some(operator) = &component.operator {
        tasks.push(object(deployment(release, operator)));
        tasks.push(TaskKind::ClusterOperator(Box::new(ClusterOperatorTask {
            object: cluster_operator(operator),
            related_objects: operator.related_objects(),
            versions: release.versions_of(operator),
        })));
    }
    tasks.into_iter().map(|what| Task::new(&place, what)).collect()
}

/// Returns whether a feature set includes an object: one behind a feature gate belongs to previews.
fn is_included(object: &Value, feature_set: &str) -> bool {
    !manifests::is_gated(object) || manifests::is_preview(feature_set)
}

/// A ClusterOperator as in the payload's manifest, without status.
pub(in crate::cvo) fn cluster_operator(operator: &OperatorFacts) -> Value {
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

/// The objects that an operator needs: its Namespace and its RBAC objects.
fn surroundings(operator: &OperatorFacts) -> Vec<TaskKind> {
    let access = access::objects(operator).into_iter();
    let access = access.map(object);
    std::iter::once(namespace(&operator.namespace)).chain(access).collect()
}

fn namespace(name: &str) -> TaskKind {
    object(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
}

/// The ServiceAccount of version pods and its binding to the privileged SCC, in releases that have it.
fn payload_account(release: &Release) -> Vec<TaskKind> {
    if !Behaviour::for_release(release).has_payload_account {
        return Vec::new();
    }
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": access::PAYLOAD_ACCOUNT, "namespace": NAMESPACE },
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": "cluster-version-operator-payload" },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:openshift:scc:privileged",
        },
        "subjects": [{ "kind": "ServiceAccount", "name": access::PAYLOAD_ACCOUNT, "namespace": NAMESPACE }],
    });
    vec![object(account), object(binding)]
}

/// The ConfigMap with the gates that an administrator must acknowledge before the next minor, if there are some.
fn admin_gates(release: &Release) -> Option<TaskKind> {
    let mut object = base("ConfigMap", "admin-gates")?.clone();
    object["data"] = json!(release.admin_gates);
    (!release.admin_gates.is_empty()).then(|| self::object(object))
}

fn own_namespace() -> Option<TaskKind> {
    Some(object(base("Namespace", NAMESPACE)?.clone()))
}

/// The operator's own object of this kind and name that every cluster has from the start.
fn base(kind: &str, name: &str) -> Option<&'static Value> {
    let is_match = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    manifests::objects("base").iter().find(is_match)
}

fn own_deployment(release: &Release) -> Option<TaskKind> {
    let template = base("Deployment", NAME)?;
    let mut deployment = with_image(template.clone(), &release.image);
    if let Some(Value::Array(list)) = deployment.pointer_mut("/spec/template/spec/containers/0/args") {
        list.extend(capabilities::arguments(release).map(Value::from));
    }
    Some(object(deployment))
}

/// Additional tasks of the payload with feature set `DevPreviewNoUpgrade`.
pub(super) fn update_status_controller(release: &Release) -> Vec<Task> {
    let place = Place::new("00", "update-status-controller", &[]);
    let objects = manifests::objects("update-status-controller").iter();
    objects.map(|wanted| Task::new(&place, object(with_image(wanted.clone(), &release.image)))).collect()
}

/// The objects of the update status controller with the release's image, for any feature set.
pub fn update_status_controller_objects(
    release: &Release,
) -> impl Iterator<Item = (windtunnel_core::Resource, Value)> {
    let objects = manifests::objects("update-status-controller").iter();
    objects.filter_map(|object| {
        let object = with_image(object.clone(), &release.image);
        Some((resources::find_for_object(&object)?.clone(), object))
    })
}

/// The objects in the operator's own image, which every payload has: its schemas and its Deployment.
pub(super) fn own_objects(release: &Release, component: &Component, feature_set: &str) -> Vec<Task> {
    let is_object = |task: &Task| matches!(task.what, TaskKind::Object(_));
    component_tasks(release, component, feature_set).into_iter().filter(is_object).collect()
}

/// The task of an object, or one that only takes time if its kind is unknown.
fn object(object: impl Into<Arc<Value>>) -> TaskKind {
    let object = object.into();
    match resources::find_for_object(&object) {
        Some(resource) => {
            let rule = ApplyRule::from_annotations(&object);
            TaskKind::Object(Box::new(PayloadObject::new(Some(resource.clone()), object, rule)))
        }
        None => TaskKind::Counted(1),
    }
}

/// Replaces the placeholder with the release's image in images and arguments.
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

/// The key of the label that selects the pods of an operator. The machine-config controller looks for the operator's
/// pod by it (`0000_80_machine-config_04_deployment.yaml` of openshift/machine-config-operator).
fn label_of(deployment: &str) -> &'static str {
    if deployment == MACHINE_CONFIG_OPERATOR { "k8s-app" } else { "name" }
}

/// The Deployment of an operator. It has an image of its own, and the release's version in `RELEASE_VERSION`,
/// which the operator reports. The real manifest has no rollout strategy, but the cluster-version operator
/// sets the default and restores it.
fn deployment(release: &Release, operator: &OperatorFacts) -> Value {
    let version = release.version.to_string();
    let image = release.image_of(&operator.deployment);
    let labels = json!({ (label_of(&operator.deployment)): operator.deployment });
    let mut metadata = json!({ "name": operator.deployment, "namespace": operator.namespace });
    if operator.deployment == MACHINE_CONFIG_OPERATOR {
        metadata["labels"] = labels.clone();
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "containers": [{
                        "name": operator.deployment,
                        "image": image,
                        "env": [{ "name": "RELEASE_VERSION", "value": version }],
                    }],
                    "nodeSelector": { "node-role.kubernetes.io/master": "" },
                    "tolerations": [
                        { "key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule" },
                    ],
                },
            },
        },
    })
}
