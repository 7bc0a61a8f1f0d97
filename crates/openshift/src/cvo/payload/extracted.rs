//! Tasks of a release whose real manifests are available.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::resources;

use super::{ApplyRule, ClusterOperatorTask, PayloadObject, Place, Task, TaskKind, facts};
use crate::cvo::NAME;
use crate::cvo::lease::NAMESPACE;
use crate::payload::{Manifest, Payload, Selection};
use crate::release::{self, Release};

/// Groups of OpenShift's own API servers, which are not simulated. Objects of these groups take time but are
/// not written, except for kinds with a CustomResourceDefinition.
const AGGREGATED: &[&str] = &[
    "apps.openshift.io",
    "authorization.openshift.io",
    "build.openshift.io",
    "image.openshift.io",
    "oauth.openshift.io",
    "packages.operators.coreos.com",
    "project.openshift.io",
    "quota.openshift.io",
    "route.openshift.io",
    "security.openshift.io",
    "template.openshift.io",
    "user.openshift.io",
];
/// The tasks of the manifests that this cluster includes, and their hash. An extracted payload lacks the
/// manifests in the operator's own image. Those of the nearest minor replace them; nothing else is added.
pub(super) fn tasks(release: &Release, payload: &Payload, selection: &Selection) -> (Vec<Task>, String) {
    let mut places = BTreeMap::new();
    let included: Vec<&Manifest> =
        payload.manifests.iter().filter(|manifest| selection.includes(&manifest.object)).collect();
    let defined: Vec<(&str, &str)> =
        included.iter().filter_map(|manifest| definition(&manifest.object)).collect();
    let own = included.iter().map(|manifest| {
        let key = (&manifest.run_level, &manifest.component, manifest.capabilities());
        let place = places.entry(key).or_insert_with_key(|(run_level, component, capabilities)| {
            Place::new(run_level, component, capabilities)
        });
        Task::new(place, task_kind(&manifest.object, &defined))
    });
    let own: Vec<Task> = own.collect();
    let mut tasks = missing(release, &own, &selection.feature_set);
    tasks.extend(own);
    (tasks, payload.version_hash(selection))
}

/// The manifests in the operator's own image, if the payload lacks them, as the folder that
/// `oc adm release extract` writes. Its Deployment shows whether they are there.
fn missing(release: &Release, tasks: &[Task], feature_set: &str) -> Vec<Task> {
    let has = |wanted: &Value| tasks.iter().filter_map(Task::object).any(|object| same(object, wanted));
    let deployment = json!({ "kind": "Deployment", "metadata": { "name": NAME, "namespace": NAMESPACE } });
    if has(&deployment) {
        return Vec::new();
    }
    let known = Release { image: release.image.clone(), ..Release::nearest(&release.version) };
    let own = known.components.iter().filter(|component| component.name == NAME);
    let parts = own.flat_map(|component| facts::own_objects(&known, component, feature_set));
    let insights = if feature_set == "DevPreviewNoUpgrade" {
        facts::update_status_controller(release)
    } else {
        Vec::new()
    };
    parts.chain(insights).filter(|task| task.object().is_some_and(|object| !has(object))).collect()
}

fn same(one: &Value, other: &Value) -> bool {
    one["kind"] == other["kind"]
        && one["metadata"]["name"] == other["metadata"]["name"]
        && one["metadata"]["namespace"] == other["metadata"]["namespace"]
}

/// Group and kind that a CustomResourceDefinition defines.
fn definition(object: &Value) -> Option<(&str, &str)> {
    let is_definition = object["kind"] == "CustomResourceDefinition";
    is_definition
        .then(|| Some((object["spec"]["group"].as_str()?, object["spec"]["names"]["kind"].as_str()?)))?
}

fn task_kind(object: &Arc<Value>, defined: &[(&str, &str)]) -> TaskKind {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let rule = ApplyRule::from_annotations(object);
    if (group, kind) == ("config.openshift.io", "ClusterOperator") && rule != ApplyRule::Delete {
        return TaskKind::ClusterOperator(Box::new(cluster_operator(object)));
    }
    let is_aggregated = AGGREGATED.contains(&group) && !defined.contains(&(group, kind));
    if is_aggregated || (needs_other_servers(object) && rule != ApplyRule::Delete) {
        return TaskKind::Counted(1);
    }
    let resource = resources::find(api_version, kind);
    TaskKind::Object(Box::new(PayloadObject { resource, object: applied(object), rule }))
}

/// Returns whether the object would make API requests wait for a program that is not simulated: webhooks that
/// must answer, and aggregated API servers.
fn needs_other_servers(object: &Value) -> bool {
    let must_answer = |webhook: &Value| webhook["failurePolicy"] != "Ignore";
    match object["kind"].as_str() {
        Some("ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
            object["webhooks"].as_array().is_some_and(|webhooks| webhooks.iter().any(must_answer))
        }
        Some("APIService") => object["spec"]["service"].is_object(),
        _ => false,
    }
}

/// The object that is applied: without status, which the payload does not own. The operator's own Deployment
/// is marked as one whose pods run a simulated program.
fn applied(object: &Arc<Value>) -> Arc<Value> {
    let is_own = object["kind"] == "Deployment" && object["metadata"]["name"] == NAME;
    let has_stamp = object["metadata"].get("creationTimestamp").is_some();
    if object.get("status").is_none() && !is_own && !has_stamp {
        return Arc::clone(object);
    }
    let mut object = (**object).clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("creationTimestamp");
    }
    if is_own && let Some(Value::Object(template)) = object.pointer_mut("/spec/template") {
        let mark = json!({ "metadata": { "annotations": { (windtunnel_controllers::PROGRAM): "true" } } });
        let mut marked = Value::Object(std::mem::take(template));
        json_patch::merge(&mut marked, &mark);
        object["spec"]["template"] = marked;
    }
    Arc::new(object)
}

fn cluster_operator(object: &Arc<Value>) -> ClusterOperatorTask {
    let versions = object["status"]["versions"].as_array().into_iter().flatten();
    let versions = versions.filter_map(|entry| {
        Some((entry["name"].as_str()?.to_owned(), entry["version"].as_str()?.to_owned()))
    });
    let versions = versions.collect();
    let mut object = (**object).clone();
    // Until the operator is deployed, its ClusterOperator has only `relatedObjects` as status.
    let related_objects = release::related_objects(&object);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        fields.entry("spec").or_insert_with(|| json!({}));
    }
    ClusterOperatorTask { object, related_objects, versions }
}
