//! The fields that the server sets, resets and keeps when built-in kinds are written
//! (`rest.RESTCreateStrategy` and its counterparts for other writes).

pub(crate) mod allocations;
mod claim;
mod devices;
mod gates;
mod job;
mod node;
mod pod;
mod request;
pub(crate) mod service;
mod status_writes;
mod templates;

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, rfc3339};

use super::{Kind, typed};
use crate::metadata;
use crate::profile::since;

/// The input of a strategy, besides the object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The x of Kubernetes 1.x.
    pub(crate) minor: u32,
    pub(crate) now: Time,
    /// The user of the write.
    pub(crate) user: &'a Identity,
    /// Whether the labels of the object are the map of its template's labels, because the client gave none.
    pub(crate) shares_labels: bool,
}

/// Resets fields that a new object must not set, and sets the initial fields of its kind.
pub(crate) fn prepare_create(kind: &Kind, object: &mut Value, context: Context<'_>) {
    if kind.rules.status && !keeps_status(kind) {
        reset_status(kind, object);
    }
    templates::drop_disabled(kind, object, None, context.minor);
    gates::drop_disabled(kind, object, None, context.minor);
    devices::drop_disabled(kind, object, None, context.minor);
    devices::set_times(kind, object, context.now);
    match (&*kind.resource.group, &*kind.resource.plural) {
        ("", "pods") => pod::prepare_create(object, context),
        ("", "namespaces") => namespace(object),
        ("", "nodes") => node::prepare_create(object),
        ("", "services") => service::prepare_create(object),
        ("", "persistentvolumes" | "persistentvolumeclaims") => {
            volume(kind, object, context);
            if kind.is_resource("", "persistentvolumeclaims") {
                claim::pair_data_sources(object, None);
            }
        }
        ("", "serviceaccounts") => name_secrets(object),
        ("apps", "daemonsets") => count_templates(object, None),
        ("discovery.k8s.io", "endpointslices") => drop_topology(kind, object, None),
        ("batch", "jobs") => job::prepare_create(object, context),
        ("apiregistration.k8s.io", "apiservices") => api_service(object, context.now),
        ("certificates.k8s.io", "certificatesigningrequests") => {
            request::prepare_create(object, context.user);
        }
        _ => {}
    }
}

/// Sets the fields of an imported object that clients may leave out and that validation requires.
pub(crate) fn complete_imported(kind: &Kind, object: &mut Value) {
    if kind.is_resource("", "services") {
        service::pair_new(object);
    }
}

/// Whether creation keeps the status: the creator of a node knows its state.
fn keeps_status(kind: &Kind) -> bool {
    kind.is_resource("", "nodes")
}

/// Resets fields that an update of the main resource must not change.
pub(crate) fn prepare_update(kind: &Kind, object: &mut Value, old: &Value, minor: u32) {
    if kind.rules.status {
        copy_field(object, old, "status");
    }
    templates::drop_disabled(kind, object, Some(old), minor);
    match (&*kind.resource.group, &*kind.resource.plural) {
        ("", "namespaces") => {
            // Only the finalize subresource changes the finalizers in the specification.
            copy_field(object, old, "spec");
            label_namespace(object);
        }
        ("", "nodes") => node::prepare_update(object, old),
        ("", "pods") => pod::prepare_update(object, old, minor),
        ("", "services") => service::prepare_update(object, old),
        ("", "persistentvolumeclaims") => claim::pair_data_sources(object, Some(old)),
        ("", "serviceaccounts") => name_secrets(object),
        ("apps", "daemonsets") => count_templates(object, Some(old)),
        ("certificates.k8s.io", "certificatesigningrequests") => copy_field(object, old, "spec"),
        _ => {}
    }
}

/// Copies annotations of a new object to the fields that replace them, and returns warnings about them.
pub(crate) fn copy_annotations(kind: &Kind, object: &mut Value) -> Vec<String> {
    if kind.is_resource("", "pods") { pod::copy_profiles(object) } else { Vec::new() }
}

/// Resets fields of an updated object after its generation was counted.
pub(crate) fn complete_update(kind: &Kind, object: &mut Value, old: &Value) {
    if kind.is_resource("discovery.k8s.io", "endpointslices") {
        drop_topology(kind, object, Some(old));
    } else if kind.is_resource("batch", "jobs") {
        job::label(object);
    }
}

/// Whether the generation counts changes of fields that are dropped because their feature gates are off.
pub(crate) fn counts_dropped(kind: &Kind) -> bool {
    kind.is_resource("resource.k8s.io", "resourceslices")
}

/// Drops the fields of an updated object whose feature gates are off.
pub(crate) fn drop_disabled(kind: &Kind, object: &mut Value, old: &Value, minor: u32) {
    gates::drop_disabled(kind, object, Some(old), minor);
    devices::drop_disabled(kind, object, Some(old), minor);
}

/// Whether a JSON pointer leads to a field of a device feature that is off, which is dropped before validation.
pub(crate) fn is_disabled(kind: &Kind, pointer: &str, old: Option<&Value>, minor: u32) -> bool {
    devices::is_disabled(kind, pointer, old, minor)
}

/// Sets the fields of an admitted new object that reading it sets.
pub(crate) fn complete_create(kind: &Kind, object: &mut Value) {
    if kind.is_resource("batch", "jobs") {
        job::label(object);
    }
    if kind.is_resource("", "persistentvolumeclaims") {
        object["status"]["phase"] = json!("Pending");
    }
}

/// Sets and keeps fields in a write of a subresource.
pub(crate) fn prepare_part(kind: &Kind, object: &mut Value, old: &Value, part: &str, context: Context<'_>) {
    match part {
        "" => devices::set_times(kind, object, context.now),
        "status" => {
            devices::drop_deallocated(kind, object, old);
            status_writes::prepare(kind, object, old, context);
        }
        _ => {}
    }
    if kind.is_resource("certificates.k8s.io", "certificatesigningrequests") {
        if part == "status" {
            request::keep_decisions(object, old);
        }
        if matches!(part, "status" | "approval") {
            request::set_times(object, old, context.now);
        }
    }
}

/// The annotation that counts the templates of a DaemonSet, once a field of its API.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// A DaemonSet with the annotation that counts its templates, which every version of it has: the count is a field of
/// Kubernetes' internal version.
pub(crate) fn with_template_count<'a>(kind: &Kind, object: &'a Value) -> Cow<'a, Value> {
    let mut object = Cow::Borrowed(object);
    if kind.is_resource("apps", "daemonsets")
        && object["metadata"]["annotations"].get(TEMPLATE_GENERATION).is_none()
        && let Some(annotations) = object_at(object.to_mut(), &["metadata", "annotations"])
    {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), json!("0"));
    }
    object
}

/// Counts the changes of a DaemonSet's template.
fn count_templates(object: &mut Value, old: Option<&Value>) {
    let before = old.map(|old| {
        let count = old["metadata"]["annotations"][TEMPLATE_GENERATION].as_str().unwrap_or_default();
        (count.parse::<i64>().unwrap_or(1), object["spec"]["template"] != old["spec"]["template"])
    });
    let count = match before {
        None => 1,
        Some((count, changed)) => count.saturating_add(i64::from(changed)),
    };
    if let Some(annotations) = object_at(object, &["metadata", "annotations"]) {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), json!(count.to_string()));
    }
}

/// A new volume is pending. A new claim has no status, and is pending when it is read.
fn volume(kind: &Kind, object: &mut Value, context: Context<'_>) {
    let is_volume = kind.is_resource("", "persistentvolumes");
    object["status"] = if is_volume { json!({ "phase": "Pending" }) } else { json!({}) };
    if is_volume && context.minor >= since::VOLUME_PHASE_TIME {
        object["status"]["lastPhaseTransitionTime"] = json!(rfc3339(context.now));
    }
}

/// Keeps only the names in the references to secrets (`cleanSecretReferences`).
fn name_secrets(account: &mut Value) {
    for secret in account.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(reference) = secret.as_object_mut() {
            reference.retain(|field, _| field == "name");
        }
    }
}

/// Drops the topology that only old versions of endpoints have, unless the endpoints are unchanged
/// (`dropTopologyOnV1`).
fn drop_topology(kind: &Kind, object: &mut Value, old: Option<&Value>) {
    if kind.resource.version != "v1" || old.is_some_and(|old| old["endpoints"] == object["endpoints"]) {
        return;
    }
    for endpoint in object.get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten() {
        endpoint.as_object_mut().map(|endpoint| endpoint.remove("deprecatedTopology"));
    }
}

/// Removes the field at a path, unless the stored object has it (the fields of features that are gone).
fn drop_unless_used(object: &mut Value, old: Option<&Value>, (owner, field): (&str, &str)) {
    if old.is_none_or(|old| old[owner][field].is_null())
        && let Some(owner) = object.get_mut(owner).and_then(Value::as_object_mut)
    {
        owner.remove(field);
    }
}

/// Copies a top-level field from another object, or removes it if it is absent there.
pub(crate) fn copy_field(object: &mut Value, from: &Value, field: &str) {
    let Some(map) = object.as_object_mut() else { return };
    match from.get(field) {
        // Usually the field is unchanged, and comparing is cheaper than copying.
        Some(value) if map.get(field) == Some(value) => {}
        Some(value) => {
            map.insert(field.to_owned(), value.clone());
        }
        None => {
            map.remove(field);
        }
    }
}

/// Removes nulls, which the decoder of a typed kind treats as absent fields.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, inner| {
            drop_nulls(inner);
            !inner.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Empties the status, in the form in which the kind writes it.
fn reset_status(kind: &Kind, object: &mut Value) {
    let Some(map) = object.as_object_mut() else { return };
    match typed::zero(kind, "status") {
        Some(zero) => map.insert("status".to_owned(), zero),
        None => map.remove("status"),
    };
}

fn namespace(object: &mut Value) {
    let finalizers = object_at(object, &["spec"]).map(|spec| spec.entry("finalizers").or_insert(Value::Null));
    match finalizers {
        Some(Value::Array(list)) if list.iter().any(|name| name == "kubernetes") => {}
        Some(Value::Array(list)) => list.push(json!("kubernetes")),
        Some(finalizers) => *finalizers = json!(["kubernetes"]),
        None => {}
    }
    object["status"] = json!({ "phase": "Active" });
    label_namespace(object);
}

fn label_namespace(object: &mut Value) {
    let name = metadata::text(object, "name").to_owned();
    if name.is_empty() {
        return;
    }
    let labels = metadata::metadata_mut(object).entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
    }
}

/// An APIService that this server serves itself is available from the start.
fn api_service(object: &mut Value, now: Time) {
    if object["spec"]["service"].is_null() {
        object["status"] = json!({ "conditions": [{
            "type": "Available", "status": "True", "lastTransitionTime": rfc3339(now),
            "reason": "Local", "message": "Local APIServices are always available",
        }] });
    }
}

/// The object at a path of fields, created if absent.
fn object_at<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut at = value.as_object_mut()?;
    for field in path {
        at = at.entry((*field).to_owned()).or_insert_with(|| json!({})).as_object_mut()?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_service_accounts_to_secrets_have_only_names() {
        let mut account =
            json!({ "secrets": [{ "kind": "Secret", "name": "s", "uid": "u" }, { "namespace": "n" }] });
        name_secrets(&mut account);
        assert_eq!(account, json!({ "secrets": [{ "name": "s" }, {}] }));
    }
}
