//! An ordered copy of the objects of a cluster, maintained from watch events.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{ByKey, Change, ChangeKind, Key, Object, Resource};

type Named = BTreeMap<String, Object>;
type Namespaces = BTreeMap<String, Named>;

/// The objects of a cluster as informers have seen them, in order of kind, namespace and name.
#[derive(Debug, Clone, Default)]
pub struct View {
    groups: BTreeMap<Cow<'static, str>, BTreeMap<Cow<'static, str>, Namespaces>>,
    by_key: ByKey<Object>,
}

impl View {
    /// The object of this kind, namespace and name; `namespace` is empty for cluster-scoped kinds.
    pub fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Option<&Object> {
        self.by_key.get_by(&resource.group, &resource.plural, namespace, name)
    }

    /// The object of this key.
    pub fn get_key(&self, key: &Key) -> Option<&Object> {
        self.by_key.get(key)
    }

    /// All objects of a kind, in order of namespace and name.
    pub fn list<'a>(&'a self, resource: &Resource) -> impl Iterator<Item = &'a Object> + use<'a> {
        self.namespaces(&resource.group, &resource.plural)
            .into_iter()
            .flat_map(|namespaces| namespaces.values().flat_map(BTreeMap::values))
    }

    /// The objects of a kind in a namespace, in order of name.
    pub fn list_in<'a>(
        &'a self,
        resource: &Resource,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Object> + use<'a> {
        self.namespaces(&resource.group, &resource.plural)
            .and_then(|namespaces| namespaces.get(namespace))
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    /// The objects of all kinds in a namespace with their keys, in order of kind and name.
    pub fn objects_in(&self, namespace: &str) -> impl Iterator<Item = (Key, &Object)> {
        self.groups.iter().flat_map(move |(group, plurals)| {
            plurals.iter().flat_map(move |(plural, namespaces)| {
                namespaces.get(namespace).into_iter().flatten().map(move |(name, object)| {
                    let (namespace, name) = (namespace.to_owned(), name.clone());
                    (Key { group: group.clone(), plural: plural.clone(), namespace, name }, object)
                })
            })
        })
    }

    /// All objects with their keys, in order of the keys.
    pub fn objects(&self) -> impl Iterator<Item = (Key, &Object)> {
        self.groups.iter().flat_map(|(group, plurals)| {
            plurals.iter().flat_map(move |(plural, namespaces)| {
                namespaces.iter().flat_map(move |(namespace, named)| {
                    named.iter().map(move |(name, object)| {
                        let (namespace, name) = (namespace.clone(), name.clone());
                        (Key { group: group.clone(), plural: plural.clone(), namespace, name }, object)
                    })
                })
            })
        })
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &Change) {
        let key = &change.key;
        let named = self
            .groups
            .entry(key.group.clone())
            .or_default()
            .entry(key.plural.clone())
            .or_default()
            .entry(key.namespace.clone())
            .or_default();
        match change.kind {
            ChangeKind::Added | ChangeKind::Modified => {
                named.insert(key.name.clone(), change.object.clone());
                self.by_key.insert(key, change.object.clone());
            }
            ChangeKind::Deleted => {
                named.remove(&key.name);
                self.by_key.remove(key);
            }
        }
    }

    fn namespaces(&self, group: &str, plural: &str) -> Option<&Namespaces> {
        self.groups.get(group)?.get(plural)
    }
}
