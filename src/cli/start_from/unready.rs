//! Pods of users that are not ready in a dump, and stay so in the copy: a budget of pods that crash leaves a drain no room.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_controllers::faults::{self, FaultKind};
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::find as find_condition;
use windtunnel_core::pod::{has_ended, node_name};
use windtunnel_core::resources::{DEPLOYMENTS, PODS, REPLICA_SETS};

/// A younger pod that is not ready may only be starting.
const STARTING: SignedDuration = SignedDuration::from_mins(10);
/// The most pods that a notice names.
const NAMED_MAX: usize = 5;

/// Keeps the pods among `objects` from becoming ready that are not ready in a dump of this time, and returns notices about them.
/// If no pod of a ReplicaSet is ready, the pods that replace them are not ready either.
pub(super) fn pin(objects: &mut [Object], now: Time) -> Vec<String> {
    let (mut pinned, mut starting) = (Vec::new(), Vec::new());
    let mut owners: BTreeMap<String, FaultKind> = BTreeMap::new();
    let mut with_others: BTreeSet<String> = BTreeSet::new();
    for object in objects.iter_mut().filter(|object| PODS.is_kind_of(object) && !has_ended(object)) {
        let name = format!("{}/{}", object.namespace(), object.name());
        if !is_unready(object) {
            with_others.extend(owner_of(object));
        } else if is_starting(object, now) {
            starting.push(name);
            with_others.extend(owner_of(object));
        } else {
            let kind = fault_of(object);
            pinned.push(name);
            owners.extend(owner_of(object).map(|owner| (owner, kind)));
            *object = annotated(object, "/metadata", kind);
        }
    }
    owners.retain(|owner, _| !with_others.contains(owner));
    pin_templates(objects, owners);
    let line =
        |names: Vec<String>, what: &str| (!names.is_empty()).then(|| format!("{what}: {}", list(&names)));
    let pinned = line(pinned, "pods that are not ready in the dump, and stay so");
    let starting = line(starting, "pods that were starting when the dump was made, and become ready");
    pinned.into_iter().chain(starting).collect()
}

/// Adds faults to the templates of ReplicaSets, by uid, and to those of their Deployments.
fn pin_templates(objects: &mut [Object], mut owners: BTreeMap<String, FaultKind>) {
    // ReplicaSets come first: they name the Deployments.
    for resource in [&REPLICA_SETS, &DEPLOYMENTS] {
        for object in objects.iter_mut().filter(|object| resource.is_kind_of(object)) {
            let Some(kind) = owners.get(object.uid()).copied() else { continue };
            owners.extend(owner_of(object).map(|owner| (owner, kind)));
            *object = annotated(object, "/spec/template/metadata", kind);
        }
    }
}

/// Whether a pod on a node is not ready. One that is not on a node waits for a place in the copy as well.
fn is_unready(pod: &Object) -> bool {
    !node_name(pod).is_empty()
        && !pod.is_terminating()
        && find_condition(pod.conditions(), "Ready").is_some_and(|ready| ready["status"] == "False")
}

fn is_starting(pod: &Object, now: Time) -> bool {
    let created = parse_rfc3339(pod.text("/metadata/creationTimestamp"));
    created.is_some_and(|created| now.duration_since(created) < STARTING)
}

/// The fault with the same effect: containers that exit again and again, or that are not ready.
fn fault_of(pod: &Object) -> FaultKind {
    let containers = ["containerStatuses", "initContainerStatuses"]
        .into_iter()
        .flat_map(|field| pod["status"][field].as_array().into_iter().flatten());
    let crashes = |container: &Value| {
        container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            || !container["state"]["terminated"].is_null() && container["restartCount"].as_i64() > Some(0)
    };
    if { containers }.any(crashes) { FaultKind::CrashLooping } else { FaultKind::Unready }
}

/// The uid of the controller.
fn owner_of(object: &Object) -> Option<String> {
    let owners = object.list("/metadata/ownerReferences");
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    controller["uid"].as_str().map(str::to_owned)
}

/// The object with a fault in the annotations of the metadata at this place.
fn annotated(object: &Object, place: &str, kind: FaultKind) -> Object {
    let mut value = object.to_value();
    if let Some(metadata) = value.pointer_mut(place)
        && (metadata["annotations"].is_object() || metadata["annotations"].is_null())
    {
        metadata["annotations"][faults::ANNOTATION] = json!(kind.name());
    }
    Object::new(value)
}

fn list(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let named = names[..names.len() - more].join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, created: &str, ready: &str, waiting: &str) -> Object {
        Object::new(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": "shop", "name": name, "uid": name, "creationTimestamp": created,
                "ownerReferences": [{ "controller": true, "uid": "set" }],
            },
            "spec": { "nodeName": "n" },
            "status": {
                "conditions": [{ "type": "Ready", "status": ready }],
                "containerStatuses": [{ "state": { "waiting": { "reason": waiting } } }],
            },
        }))
    }

    fn replica_set() -> Object {
        Object::new(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "set", "uid": "set" },
            "spec": { "template": { "metadata": {} } },
        }))
    }

    fn faults_of(objects: &[Object]) -> Vec<&str> {
        let fault = |object: &'_ Object| -> Option<String> {
            let text = format!("/metadata/annotations/{}", faults::ANNOTATION.replace('/', "~1"));
            let own = object.pointer(&text).or_else(|| object.pointer(&format!("/spec/template{text}")));
            own.and_then(|fault| fault.as_str()).map(str::to_owned)
        };
        let name = |fault: Option<String>| match fault.as_deref() {
            Some("crash-looping") => "crash-looping",
            Some("unready") => "unready",
            _ => "well",
        };
        objects.iter().map(|object| name(fault(object))).collect()
    }

    #[test]
    fn pods_that_crash_go_on_crashing_and_those_that_start_do_not() {
        let (old, young, now) =
            ("2025-01-01T00:00:00Z", "2025-01-02T00:00:00Z", parse_rfc3339("2025-01-02T00:05:00Z").unwrap());
        let mut all = [
            pod("crashes", old, "False", "CrashLoopBackOff"),
            pod("waits", old, "False", "ImagePullBackOff"),
            replica_set(),
        ];
        let notices = pin(&mut all, now);
        assert_eq!(notices, ["pods that are not ready in the dump, and stay so: shop/crashes, shop/waits"]);
        assert_eq!(faults_of(&all), ["crash-looping", "unready", "unready"]);
        let mut all = [
            pod("crashes", old, "False", "CrashLoopBackOff"),
            pod("starts", young, "False", "ContainerCreating"),
            pod("runs", old, "True", ""),
            replica_set(),
        ];
        let notices = pin(&mut all, now);
        assert_eq!(
            notices[1],
            "pods that were starting when the dump was made, and become ready: shop/starts"
        );
        assert_eq!(faults_of(&all), ["crash-looping", "well", "well", "well"]);
    }
}
