//! What the owners that an object names are to it.

use serde_json::Value;
use windtunnel_core::resources;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Key, Object, Resource, View};

use super::{FOREGROUND, uid};

/// The owners that an object names.
pub(super) fn owners(object: &Object) -> &[Value] {
    object.list("/metadata/ownerReferences")
}

/// Whether an object has this finalizer.
pub(super) fn keeps(object: &Object, finalizer: &str) -> bool {
    object.list("/metadata/finalizers").iter().any(|name| name == finalizer)
}

/// Whether a deleted object waits until its dependents are gone.
pub(super) fn is_waiting(object: &Object) -> bool {
    object.is_terminating() && keeps(object, FOREGROUND)
}

/// Where a reference leads.
pub(super) enum Owner<'v> {
    /// To an object.
    Found(Key, &'v Object),
    /// To one that is not there, or to another of its name.
    Absent,
    /// To a kind that nobody serves, or from a cluster-scoped object into a namespace: nothing can be told of it.
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

/// Follows a reference of an object in `namespace`: owners of a namespaced kind stand in the same one.
pub(super) fn owner<'v>(reference: &Value, namespace: &str, view: &'v View) -> Owner<'v> {
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
    resources::of_group(api_version, kind).or_else(|| {
        let definitions = view.list(&CUSTOM_RESOURCE_DEFINITIONS).map(|definition| &**definition);
        resources::defined(api_version, kind, definitions)
    })
}

/// The uids of an object's owners, by what they are to it.
#[derive(Debug, Default)]
pub(super) struct Owners<'a> {
    /// They hold it, or nothing can be told of them.
    pub(super) solid: Vec<&'a str>,
    /// They wait until it is gone.
    pub(super) waiting: Vec<&'a str>,
    /// They are gone.
    pub(super) dangling: Vec<&'a str>,
}

impl<'a> Owners<'a> {
    /// Sorts the owners that `object` names.
    pub(super) fn of(object: &'a Object, view: &View) -> Self {
        let mut sorted = Self::default();
        for reference in owners(object) {
            let list = match owner(reference, object.namespace(), view) {
                Owner::Found(_, owner) if is_waiting(owner) => &mut sorted.waiting,
                Owner::Found(..) | Owner::Unknown => &mut sorted.solid,
                Owner::Absent => &mut sorted.dangling,
            };
            list.push(uid(reference));
        }
        sorted
    }
}
