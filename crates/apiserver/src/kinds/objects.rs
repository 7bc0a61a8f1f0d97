//! Lookups of stored objects by their resource.

use windtunnel_core::{Change, ChangeKind, Key, Object, Resource, View};

use super::catalog::Catalog;
use crate::outbound::endpoint::with_service_endpoint;
use crate::outbound::hooks::HookCall;
use crate::store::Store;

/// The stored objects, with the kinds that convert them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Objects<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) store: &'a Store,
}

impl<'a> Objects<'a> {
    /// An object in the version of `resource`.
    pub(crate) fn get(self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        let kind = self.catalog.find(&resource.group, &resource.version, &resource.plural)?;
        let namespace = if resource.namespaced { namespace } else { "" };
        let entry = self.store.get(kind.table, namespace, name)?;
        Some(Object::from(kind.served(entry).whole()))
    }

    /// The objects of a kind, in order of namespace and name.
    pub(crate) fn list(self, resource: &Resource) -> Vec<Object> {
        let Some(kind) = self.catalog.find(&resource.group, &resource.version, &resource.plural) else {
            return Vec::new();
        };
        self.store.list(kind.table, "").map(|(.., entry)| Object::from(kind.served(entry).whole())).collect()
    }

    /// Sets the current address of the Service of a webhook call.
    pub(crate) fn with_service_endpoint(self, call: HookCall) -> HookCall {
        with_service_endpoint(call, |resource, namespace, name| self.get(resource, namespace, name))
    }

    /// All objects in their storage version, by kind, namespace and name.
    pub(crate) fn all(self) -> impl Iterator<Item = (Key, Object)> + use<'a> {
        let mut kinds: Vec<_> = self.catalog.stored().filter(|kind| kind.is_storage()).collect();
        kinds.dedup_by_key(|kind| kind.table);
        kinds.into_iter().flat_map(move |kind| {
            self.store.list(kind.table, "").map(move |(namespace, name, entry)| {
                (kind.resource.key(namespace, name), Object::from(entry.served().whole()))
            })
        })
    }

    /// All objects as a view.
    pub(crate) fn view(self) -> View {
        let mut view = View::default();
        for (key, object) in self.all() {
            view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        }
        view
    }
}
