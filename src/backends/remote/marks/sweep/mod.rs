//! Removes the objects of a run from a cluster, and nothing else.

mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, NODES, PODS};

use self::scope::{Scope, Traces};
use super::stamp::RUN;
use crate::backends::remote::wire::Wire;

/// The maximum number of rounds and the pause between them: two minutes in total.
const ROUNDS: u32 = 240;
const PAUSE: Duration = Duration::from_millis(500);
/// The maximum number of rounds for a kind that cannot be listed.
const UNSEEN_ROUNDS: u32 = 10;

/// A kind, and whether it supports `deletecollection`.
struct Kind {
    resource: Resource,
    collection: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Swept {
    pub(crate) removed: usize,
    /// Kinds that could not be listed, each with the reason.
    pub(crate) unseen: Vec<String>,
}

/// The result of one round: remaining objects, and kinds that could not be listed.
#[derive(Default)]
struct Round {
    found: Vec<String>,
    unseen: Vec<String>,
    /// The uids of owners of pods, and of their owners.
    owners: BTreeSet<String>,
}

/// Removes all objects of a run except its Lease. With `controllers`, the cluster's namespace controller
/// empties and finalizes namespaces. A kind that cannot be listed, for example because its conversion webhook
/// is missing, does not stop the removal of others.
///
/// # Errors
/// The remaining objects, or the reason why they are unknown.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
pub(crate) fn sweep(wire: &Arc<Wire>, run: &str, controllers: bool) -> Result<Swept, String> {
    let kinds = kinds(wire, controllers)?;
    let (mut removed, mut traces) = (BTreeSet::new(), Traces::default());
    let mut last = Round::default();
    let mut unseen_for = 0;
    for round in 0..ROUNDS {
        if round > 0 {
            std::thread::sleep(PAUSE);
        }
        let selector = format!("labelSelector={RUN}%3D{run}");
        let own = list(wire, &format!("{}?{selector}", NODES.path("", "")))?;
        traces.nodes.extend(own.iter().map(|node| text(node, "name")));
        let own = list(wire, &format!("{}?{selector}", NAMESPACES.path("", "")))?;
        let namespaces = own.iter().map(|namespace| text(namespace, "name")).collect();
        last = sweep_once(wire, &kinds, &Scope { run, controllers, namespaces, traces: &traces }, &own);
        removed.extend(last.found.iter().cloned());
        traces.owners.append(&mut last.owners);
        unseen_for = if last.unseen.is_empty() { 0 } else { unseen_for + 1 };
        if last.found.is_empty() && (unseen_for == 0 || unseen_for > UNSEEN_ROUNDS) {
            return Ok(Swept { removed: removed.len(), unseen: last.unseen });
        }
    }
    last.found.truncate(20);
    Err(format!("these objects of run {run} cannot be removed: {}", last.found.join(", ")))
}

/// Does one round: lists all kinds and deletes the objects of the run, whose namespaces these are.
fn sweep_once(wire: &Arc<Wire>, kinds: &[Kind], scope: &Scope<'_>, namespaces: &[Value]) -> Round {
    let mut seen = Round::default();
    for kind in kinds {
        let resource = &kind.resource;
        let found = match list(wire, &format!("{}{}", resource.path("", ""), scope.query(resource))) {
            Ok(found) => found,
            Err(why) => {
                seen.unseen.push(format!("{}: {why}", resource.plural));
                continue;
            }
        };
        // The namespace controller lists objects of every kind; removing kinds meanwhile makes it start
        // over.
        let waits = scope.controllers
            && is(resource, &CUSTOM_RESOURCE_DEFINITIONS)
            && seen.found.iter().any(|name| name.starts_with("namespaces "));
        let found: Vec<&Value> = found.iter().filter(|object| scope.has(resource, object)).collect();
        for object in &found {
            let (namespace, name) = (text(object, "namespace"), text(object, "name"));
            seen.found.push(format!("{} {namespace}/{name}", resource.plural));
            if scope::owns_pods(resource) {
                seen.owners.insert(text(object, "uid"));
            }
        }
        if !waits {
            delete(wire, kind, &found, scope);
        }
    }
    if !scope.controllers && seen.found.iter().all(|name| name.starts_with("namespaces ")) {
        for namespace in namespaces {
            finalize(wire, namespace);
        }
    }
    seen
}

/// Deletes objects of a kind, as a collection per namespace if possible.
fn delete(wire: &Arc<Wire>, kind: &Kind, found: &[&Value], scope: &Scope<'_>) {
    let mut by_namespace: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for object in found {
        by_namespace.entry(text(object, "namespace")).or_default().push(object);
    }
    for (namespace, objects) in by_namespace {
        if !scope.goes_with_its_namespace(&kind.resource, &namespace) {
            delete_in(wire, kind, &namespace, &objects, scope);
        }
        // The controllers that would remove finalizers are gone. The API server itself removes that of
        // definitions.
        let has_finalizers = |object: &&&Value| {
            !is(&kind.resource, &CUSTOM_RESOURCE_DEFINITIONS)
                && object["metadata"]["finalizers"]
                    .as_array()
                    .is_some_and(|finalizers| !finalizers.is_empty())
        };
        for object in objects.iter().filter(has_finalizers) {
            let patch = json!({ "metadata": { "finalizers": null } });
            let _ =
                wire.change(Method::PATCH, &kind.resource.path(&namespace, &text(object, "name")), &patch);
        }
    }
}

/// Deletes objects of a kind in one namespace. The next round repeats failed deletions.
fn delete_in(wire: &Arc<Wire>, kind: &Kind, namespace: &str, objects: &[&Value], scope: &Scope<'_>) {
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background",
    });
    // A terminating pod waits for a kubelet that ended with the run.
    let is_pods = is(&kind.resource, &PODS);
    let to_delete: Vec<&&Value> = objects
        .iter()
        .filter(|object| is_pods || object["metadata"]["deletionTimestamp"].is_null())
        .collect();
    let all = scope.namespaces.contains(namespace);
    let is_selected = all || !scope::is_made_by_controllers(&kind.resource);
    if kind.collection && to_delete.len() > 1 && is_selected {
        let query = if all { String::new() } else { scope.selector() };
        let path = format!("{}{query}", kind.resource.path(namespace, ""));
        let _ = wire.change(Method::DELETE, &path, &options);
        return;
    }
    for object in to_delete {
        let path = kind.resource.path(namespace, &text(object, "name"));
        let _ = wire.change(Method::DELETE, &path, &options);
    }
}

/// Finalizes a namespace that is empty and terminating.
fn finalize(wire: &Arc<Wire>, namespace: &Value) {
    let own = NAMESPACES.path("", &text(namespace, "name"));
    if let Ok(mut now) = wire.get(&own).checked()
        && now["metadata"]["deletionTimestamp"].is_string()
    {
        now["spec"]["finalizers"] = json!([]);
        let _ = wire.change(Method::PUT, &format!("{own}/finalize"), &now);
    }
}

/// Returns all kinds that can be listed and deleted, definitions last. With `controllers`, which empty
/// namespaces, namespaces come first, so that nothing new is created in them; otherwise they come after their
/// content.
fn kinds(wire: &Arc<Wire>, controllers: bool) -> Result<Vec<Kind>, String> {
    let get = |path: &str| wire.get(path).checked().map_err(|rejection| rejection.message);
    let mut roots = vec![("/api/v1".to_owned(), String::new(), "v1".to_owned())];
    for group in get("/apis")?["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        // The preferred version comes first; some kinds exist only in another one.
        for version in group["versions"].as_array().into_iter().flatten() {
            let version = version["version"].as_str().unwrap_or_default().to_owned();
            roots.push((format!("/apis/{name}/{version}"), name.to_owned(), version));
        }
    }
    let mut kinds: Vec<Kind> = Vec::new();
    for (root, group, version) in roots {
        // An aggregated API server may be unavailable; it has no objects of a run.
        let Ok(served) = get(&root) else { continue };
        for found in served["resources"].as_array().into_iter().flatten() {
            let can =
                |verb: &str| found["verbs"].as_array().is_some_and(|verbs| verbs.contains(&json!(verb)));
            let name = found["name"].as_str().unwrap_or_default();
            let is_known = |kind: &Kind| kind.resource.group == group && kind.resource.plural == name;
            if can("list") && can("delete") && !name.contains('/') && !kinds.iter().any(is_known) {
                let resource = Resource {
                    group: group.clone().into(),
                    version: version.clone().into(),
                    kind: found["kind"].as_str().unwrap_or_default().to_owned().into(),
                    plural: name.to_owned().into(),
                    namespaced: found["namespaced"] == true,
                };
                kinds.push(Kind { resource, collection: can("deletecollection") });
            }
        }
    }
    kinds.sort_by_key(|Kind { resource, .. }| {
        (is(resource, &CUSTOM_RESOURCE_DEFINITIONS), is(resource, &NAMESPACES) != controllers)
    });
    Ok(kinds)
}

fn list(wire: &Arc<Wire>, path: &str) -> Result<Vec<Value>, String> {
    match wire.get(path).checked() {
        Ok(mut list) => Ok(match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }),
        // The kind was removed with its definition.
        Err(rejection) if matches!(rejection.code, 404 | 405) => Ok(Vec::new()),
        Err(rejection) => Err(rejection.message),
    }
}

fn is(resource: &Resource, other: &Resource) -> bool {
    resource.group == other.group && resource.plural == other.plural
}

fn text(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::remote::scripted;

    #[test]
    fn finds_kinds_that_only_a_non_preferred_version_serves() {
        let group = json!({ "groups": [{
            "name": "g", "versions": [{ "version": "v1" }, { "version": "v1alpha1" }],
            "preferredVersion": { "version": "v1" },
        }] });
        let served = |names: &[&str]| {
            let kinds = names.iter().map(|name| json!({ "name": name, "verbs": ["list", "delete"] }));
            (200, json!({ "resources": kinds.collect::<Vec<_>>() }))
        };
        let answers = vec![(200, group), served(&["pods"]), served(&["a", "a/status"]), served(&["a", "b"])];
        let kinds = kinds(&scripted::wire(None, answers), false).unwrap();
        let kinds = kinds.iter().map(|Kind { resource, .. }| resource.path("", ""));
        assert_eq!(kinds.collect::<Vec<_>>(), ["/api/v1/pods", "/apis/g/v1/a", "/apis/g/v1alpha1/b"]);
    }
}
