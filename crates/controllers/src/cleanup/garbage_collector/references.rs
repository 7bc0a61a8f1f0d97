//! Owner references of an object and the state of the owners.

use serde_json::Value;
use windtunnel_core::resources::{self, CUSTOM_RESOURCE_DEFINITIONS};
use windtunnel_core::{Key, Object, Resource, View};

use super::{FOREGROUND, uid};

/// The owner references of an object.
pub(super) fn owners(object: &Object) -> &[Value] {
    object.list("/metadata/ownerReferences")
}

pub(super) fn has_finalizer(object: &Object, finalizer: &str) -> bool {
    object.list("/metadata/finalizers").iter().any(|name| name == finalizer)
}

/// Whether an object waits in foreground deletion for its dependents.
pub(super) fn is_waiting(object: &Object) -> bool {
    object.is_terminating() && has_finalizer(object, FOREGROUND)
}

/// The result of resolving an owner reference.
pub(super) enum Owner<'v> {
    /// The owner exists.
    Found(Key, &'v Object),
    /// The owner does not exist, or an object of the same name has another uid.
    Absent,
    /// The kind is not served, or a cluster-scoped object refers to a namespaced owner. Nothing is known
    /// about the owner.
    Unknown,
}

impl<'v> Owner<'v> {
    pub(super) fn into_found(self) -> Option<(Key, &'v Object)> {
        match self {
            Self::Found(key, object) => Some((key, object)),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// Resolves an owner reference of an object in `namespace`. Namespaced owners must be in the same namespace.
pub(super) fn resolve_owner<'v>(reference: &Value, namespace: &str, view: &'v View) -> Owner<'v> {
    let Some(resource) = resource(reference, view) else { return Owner::Unknown };
    if resource.namespaced && namespace.is_empty() {
        return Owner::Unknown;
    }
    let key = resource.key(namespace, reference["name"].as_str().unwrap_or_default());
    match view.get_key(&key).filter(|object| object.uid() == uid(reference)) {
        Some(object) => Owner::Found(key, object),
        None => Owner::Absent,
    }
}

fn resource(reference: &Value, view: &View) -> Option<Resource> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    resources::find(api_version, kind).or_else(|| {
        let definitions = view.list(&CUSTOM_RESOURCE_DEFINITIONS).map(|definition| &**definition);
        resources::find_in_definitions(api_version, kind, definitions)
    })
}

/// The uids of an object's owners by the state of the owners.
#[derive(Debug, Default)]
pub(super) struct Owners<'a> {
    /// They exist, or nothing is known about them.
    pub(super) solid: Vec<&'a str>,
    /// They wait in foreground deletion.
    pub(super) waiting: Vec<&'a str>,
    /// They do not exist.
    pub(super) dangling: Vec<&'a str>,
}

impl<'a> Owners<'a> {
    pub(super) fn classify(object: &'a Object, view: &View) -> Self {
        let mut sorted = Self::default();
        for reference in owners(object) {
            let list = match resolve_owner(reference, object.namespace(), view) {
                Owner::Found(_, owner) if is_waiting(owner) => &mut sorted.waiting,
                Owner::Found(..) | Owner::Unknown => &mut sorted.solid,
                Owner::Absent => &mut sorted.dangling,
            };
            list.push(uid(reference));
        }
        sorted
    }
}
