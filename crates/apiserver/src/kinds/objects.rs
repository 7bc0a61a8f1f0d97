//! Lookups of stored objects by their resource.

use windtunnel_core::{Object, Resource};

use super::catalog::Catalog;
use crate::store::Store;

/// The stored objects, with the kinds that convert them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Objects<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) store: &'a Store,
}

impl Objects<'_> {
    /// An object in the version of `resource`.
    pub(crate) fn get(self, resource: &Resource, namespace: &str, name: &str) -> Option<Object> {
        let kind = self.catalog.find(&resource.group, &resource.version, &resource.plural)?;
        let namespace = if resource.namespaced { namespace } else { "" };
        let entry = self.store.get(kind.table, namespace, name)?;
        Some(Object::from(kind.served(entry).whole()))
    }
}
