//! Takes away what a run made in a cluster, and nothing else: what carries its label, and what stands in its namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::stamp::RUN;
use super::wire::Wire;
use crate::model::Resource;
use crate::model::resources::{CUSTOM_RESOURCE_DEFINITIONS, LEASES, NAMESPACES};

/// How often it is looked what is left, and the pause between: two minutes in all.
const ROUNDS: u32 = 240;
const PAUSE: Duration = Duration::from_millis(500);
/// How often a kind is tried that cannot be listed.
const UNSEEN_ROUNDS: u32 = 10;

/// A kind, and whether all of it can be deleted at once.
struct Kind {
    resource: Resource,
    collection: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// How many objects went.
    pub(crate) removed: usize,
    /// Kinds that could not be listed, each with why.
    pub(crate) unseen: Vec<String>,
}

/// What one look at everything found: what was there, and what could not be looked at.
#[derive(Default)]
struct Look {
    found: Vec<String>,
    unseen: Vec<String>,
}

/// Removes everything of a run but its Lease. `controllers`: others empty and finalize namespaces. A kind that cannot be
/// listed, whose conversion webhook is away for instance, keeps nothing else from being removed.
///
/// # Errors
/// What is left, or why it cannot be told.
#[expect(clippy::disallowed_methods, reason = "real servers take their time on the wall")]
pub(crate) fn sweep(wire: &Arc<Wire>, run: &str, controllers: bool) -> Result<Swept, String> {
    let kinds = kinds(wire)?;
    let mut removed = BTreeSet::new();
    let mut last = Look::default();
    let mut unseen_for = 0;
    for round in 0..ROUNDS {
        if round > 0 {
            std::thread::sleep(PAUSE);
        }
        last = look(wire, run, &kinds, controllers, &mut removed)?;
        unseen_for = if last.unseen.is_empty() { 0 } else { unseen_for + 1 };
        if last.found.is_empty() && (unseen_for == 0 || unseen_for > UNSEEN_ROUNDS) {
            return Ok(Swept { removed: removed.len(), unseen: last.unseen });
        }
    }
    last.found.truncate(20);
    Err(format!("these objects of run {run} do not go: {}", last.found.join(", ")))
}

/// Looks once at everything and deletes what is there of the run.
fn look(
    wire: &Arc<Wire>,
    run: &str,
    kinds: &[Kind],
    controllers: bool,
    removed: &mut BTreeSet<String>,
) -> Result<Look, String> {
    let selector = format!("labelSelector={RUN}%3D{run}");
    let ours = list(wire, &format!("{}?{selector}", NAMESPACES.path("", "")))?;
    let namespaces: BTreeSet<String> = ours.iter().map(|namespace| text(namespace, "name")).collect();
    let mut seen = Look::default();
    for kind in kinds {
        let resource = &kind.resource;
        // Without a namespace controller, what others made in our namespaces has to go as well.
        let by_namespace = resource.namespaced && !controllers && !namespaces.is_empty();
        let query = if by_namespace { String::new() } else { format!("?{selector}") };
        let found = match list(wire, &format!("{}{query}", resource.path("", ""))) {
            Ok(found) => found,
            Err(why) => {
                seen.unseen.push(format!("{}: {why}", resource.plural));
                continue;
            }
        };
        let is_ours = |object: &&Value| {
            object["metadata"]["labels"][RUN] == run || namespaces.contains(&text(object, "namespace"))
        };
        let is_lease = |object: &&Value| is(resource, &LEASES) && text(object, "name") == super::runs::LEASE;
        let found: Vec<&Value> = found.iter().filter(is_ours).filter(|object| !is_lease(object)).collect();
        for object in &found {
            seen.found.push(format!(
                "{} {}/{}",
                resource.plural,
                text(object, "namespace"),
                text(object, "name")
            ));
        }
        delete(wire, kind, &found, &namespaces, &selector);
    }
    removed.extend(seen.found.iter().cloned());
    if !controllers && seen.found.iter().all(|name| name.starts_with("namespaces ")) {
        for namespace in &ours {
            finalize(wire, namespace);
        }
    }
    Ok(seen)
}

/// Deletes objects of a kind, namespace by namespace where that can be done at once.
fn delete(wire: &Arc<Wire>, kind: &Kind, found: &[&Value], namespaces: &BTreeSet<String>, selector: &str) {
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background",
    });
    let mut by_namespace: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for object in found {
        by_namespace.entry(text(object, "namespace")).or_default().push(object);
    }
    for (namespace, objects) in by_namespace {
        let live = || objects.iter().filter(|object| object["metadata"]["deletionTimestamp"].is_null());
        if kind.collection && live().count() > 1 {
            let all = namespaces.contains(&namespace);
            let query = if all { String::new() } else { format!("?{selector}") };
            // What does not go is there when it is looked again.
            let _ = wire.change(
                Method::DELETE,
                &format!("{}{query}", kind.resource.path(&namespace, "")),
                &options,
            );
        } else {
            for object in live() {
                let _ = wire.change(
                    Method::DELETE,
                    &kind.resource.path(&namespace, &text(object, "name")),
                    &options,
                );
            }
        }
        // Those who would take finalizers away are gone, except for that of definitions, which the API server itself
        // takes.
        let held = |object: &&&Value| {
            !is(&kind.resource, &CUSTOM_RESOURCE_DEFINITIONS)
                && object["metadata"]["finalizers"]
                    .as_array()
                    .is_some_and(|finalizers| !finalizers.is_empty())
        };
        for object in objects.iter().filter(held) {
            let free = json!({ "metadata": { "finalizers": null } });
            let _ = wire.change(Method::PATCH, &kind.resource.path(&namespace, &text(object, "name")), &free);
        }
    }
}

/// Lets a namespace go that is empty and on its way.
fn finalize(wire: &Arc<Wire>, namespace: &Value) {
    let own = NAMESPACES.path("", &text(namespace, "name"));
    if let Ok(mut now) = wire.get(&own).checked()
        && now["metadata"]["deletionTimestamp"].is_string()
    {
        now["spec"]["finalizers"] = json!([]);
        let _ = wire.change(Method::PUT, &format!("{own}/finalize"), &now);
    }
}

/// All kinds whose objects can be listed and deleted; namespaces and definitions last.
fn kinds(wire: &Arc<Wire>) -> Result<Vec<Kind>, String> {
    let get = |path: &str| wire.get(path).checked().map_err(|refusal| refusal.message);
    let mut roots = vec![("/api/v1".to_owned(), String::new(), "v1".to_owned())];
    for group in get("/apis")?["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        // The preferred one stands first; some kinds are served in another one alone.
        for version in group["versions"].as_array().into_iter().flatten() {
            let version = version["version"].as_str().unwrap_or_default().to_owned();
            roots.push((format!("/apis/{name}/{version}"), name.to_owned(), version));
        }
    }
    let mut kinds: Vec<Kind> = Vec::new();
    for (root, group, version) in roots {
        // An API server behind this one may be away; nothing of it is ours.
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
    kinds.sort_by_key(|kind| {
        (is(&kind.resource, &CUSTOM_RESOURCE_DEFINITIONS), is(&kind.resource, &NAMESPACES))
    });
    Ok(kinds)
}

fn list(wire: &Arc<Wire>, path: &str) -> Result<Vec<Value>, String> {
    match wire.get(path).checked() {
        Ok(mut list) => Ok(match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }),
        // The kind went with its definition.
        Err(refusal) if matches!(refusal.code, 404 | 405) => Ok(Vec::new()),
        Err(refusal) => Err(refusal.message),
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
    use super::super::scripted;
    use super::*;

    #[test]
    fn a_kind_is_found_that_its_group_serves_in_another_version_than_the_preferred_one() {
        let group = json!({ "groups": [{
            "name": "g", "versions": [{ "version": "v1" }, { "version": "v1alpha1" }],
            "preferredVersion": { "version": "v1" },
        }] });
        let served = |names: &[&str]| {
            let kinds = names.iter().map(|name| json!({ "name": name, "verbs": ["list", "delete"] }));
            (200, json!({ "resources": kinds.collect::<Vec<_>>() }))
        };
        let answers = vec![(200, group), served(&["pods"]), served(&["a", "a/status"]), served(&["a", "b"])];
        let kinds = kinds(&scripted::wire(None, answers)).unwrap();
        let kinds = kinds.iter().map(|Kind { resource, .. }| resource.path("", ""));
        assert_eq!(kinds.collect::<Vec<_>>(), ["/api/v1/pods", "/apis/g/v1/a", "/apis/g/v1alpha1/b"]);
    }
}
