//! Binds a pod to a node for a scheduler.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::clock::rfc3339;

use super::success;
use crate::call::{Call, part};
use crate::metadata;
use crate::profile::since;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::Method;
use crate::server::ApiServer;
use crate::server::change::Change;

const BINDING: Resource = Resource::namespaced("", "v1", "Binding", "bindings");

impl ApiServer {
    /// `POST /api/v1/namespaces/X/bindings`: the older endpoint, with the name of the pod in the body.
    pub(super) fn bindings(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let collection = call.path.name.is_empty() && !call.path.namespace.is_empty();
        if call.request.method != Method::Post || !collection {
            return Err(BoxedRejection::method_not_allowed());
        }
        let mut binding = part::body(call, &[("", "v1")], "Binding")?;
        part::complete(&mut binding, &BINDING, call);
        self.admit_posted(call, None, &mut binding, |_, _, binding| check_target(binding))?;
        let name = metadata::text(&binding, "name").to_owned();
        self.bind_pod(call, &name, &binding)
    }

    /// `POST .../pods/NAME/binding`.
    pub(super) fn bind(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let mut binding = part::body(call, &[("", "v1")], "Binding")?;
        part::complete(&mut binding, &BINDING, call);
        self.admit_posted(call, Some(&BINDING), &mut binding, |_, call, binding| {
            if metadata::text(binding, "name") != call.path.name {
                return Err(BoxedRejection::bad_request("name in URL does not match name in Binding object"));
            }
            check_target(binding)
        })?;
        let name = call.path.name.to_string();
        self.bind_pod(call, &name, &binding)
    }

    fn bind_pod(&mut self, call: &mut Call<'_>, name: &str, binding: &Value) -> Outcome<Reply> {
        let node = binding["target"]["name"].as_str().unwrap_or_default();
        let pods = self.catalog.find("", "v1", "pods").cloned();
        let Some(pods) = pods else { return Err(BoxedRejection::unknown_resource()) };
        let found = self.store.get(pods.table, &call.path.namespace, name);
        let old = found.ok_or_else(|| BoxedRejection::not_found(&pods.resource, name))?.served();
        let conflict = |why: &str| Err(BoxedRejection::conflict(&pods.resource, "pods/binding", name, why));
        let uid = metadata::text(binding, "uid");
        if !uid.is_empty() && uid != metadata::text(&old, "uid") {
            let (own, namespace) = (metadata::text(&old, "uid"), &*call.path.namespace);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/pods/{namespace}/{name}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {own}"
            );
            return Err(BoxedRejection::conflict(&pods.resource, "pods", name, &why));
        }
        if metadata::is_terminating(&old) {
            return conflict(&format!("pod {name} is being deleted, cannot be assigned to a host"));
        }
        if let Some(assigned) = old["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
            return conflict(&format!("pod {name} is already assigned to node \"{assigned}\""));
        }
        if old["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            return conflict(&format!("pod {name} has non-empty .spec.schedulingGates"));
        }
        let mut pod = (*old).clone();
        pod["spec"]["nodeName"] = json!(node);
        extend(&mut pod, "annotations", binding);
        if self.profile.minor >= since::TOPOLOGY_LABELS {
            extend(&mut pod, "labels", binding);
        }
        set_condition(
            &mut pod,
            json!({
                "type": "PodScheduled", "status": "True",
                "lastProbeTime": null, "lastTransitionTime": rfc3339(call.now),
            }),
        );
        call.before = Some(old.clone());
        if !call.dry_run {
            let key = pods.key(&call.path.namespace, name);
            let stored = self.store.rewrite(pods.table, &key, pods.epoch(), pod);
            self.follow(&Change { kind: &pods, key: &key, old: Some(&old), now: call.now });
            call.after = Some(stored);
        }
        Ok(success())
    }
}

/// Checks the target of a binding.
fn check_target(binding: &Value) -> Outcome<()> {
    let target = &binding["target"];
    let kind = target["kind"].as_str().unwrap_or_default();
    let node = target["name"].as_str().unwrap_or_default();
    let mut errors = Vec::new();
    if !matches!(kind, "" | "Node") {
        errors.push(format!(
            "target.kind: Unsupported value: {}: supported values: \"Node\", \"<empty>\"",
            crate::gotext::quote(kind)
        ));
    }
    if node.is_empty() {
        errors.push("target.name: Required value".to_owned());
    }
    match errors.as_slice() {
        [] => Ok(()),
        [only] => Err(BoxedRejection::internal(only.clone())),
        all => Err(BoxedRejection::internal(format!("[{}]", all.join(", ")))),
    }
}

/// Adds the labels or annotations of a binding to its pod.
fn extend(pod: &mut Value, field: &str, binding: &Value) {
    let Some(more) = binding["metadata"][field].as_object() else { return };
    let own = metadata::metadata_mut(pod).entry(field).or_insert_with(|| json!({}));
    if let Some(own) = own.as_object_mut() {
        own.extend(more.clone());
    }
}

/// Adds a condition, or replaces the one of the same type.
pub(super) fn set_condition(object: &mut Value, condition: Value) {
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    match list.iter_mut().find(|existing| existing["type"] == condition["type"]) {
        Some(existing) => *existing = condition,
        None => list.push(condition),
    }
}
