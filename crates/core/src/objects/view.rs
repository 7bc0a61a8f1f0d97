//! An ordered copy of the objects of a cluster, maintained from watch events.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::pod::node_name;
use crate::resources::{CLUSTER_VERSIONS, NODES, PODS};
use crate::{ByKey, Change, ChangeKind, Key, Object, Resource};

/// The prefix of the labels that give a Node its roles (`kubectl get nodes` shows these).
const ROLE_PREFIX: &str = "node-role.kubernetes.io/";

type Named = BTreeMap<String, Object>;
type Namespaces = BTreeMap<String, Named>;

/// The objects of a cluster as informers have seen them, in order of kind, namespace and name.
#[derive(Debug, Clone, Default)]
pub struct View {
    groups: BTreeMap<Cow<'static, str>, BTreeMap<Cow<'static, str>, Namespaces>>,
    by_key: ByKey<Object>,
    /// The names of the Nodes of each role. In a cluster of thousands of workers a few are control-plane nodes, and
    /// many components ask for these after each change.
    nodes_by_role: BTreeMap<String, BTreeSet<String>>,
    /// The namespaces and names of the Pods on each Node. Components of a node ask for its few pods among all.
    pods_by_node: BTreeMap<String, BTreeSet<(String, String)>>,
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

    /// The ClusterVersion `version`, the only one of an OpenShift cluster.
    pub fn cluster_version(&self) -> Option<&Object> {
        self.get(&CLUSTER_VERSIONS, "", "version")
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

    /// The Nodes with the label `node-role.kubernetes.io/ROLE`, in order of name.
    pub fn nodes_of_role<'a>(&'a self, role: &str) -> impl Iterator<Item = &'a Object> + use<'a> {
        let names = self.nodes_by_role.get(role).into_iter().flatten();
        names.filter_map(|name| self.get(&NODES, "", name))
    }

    /// The Pods that are bound to a Node, also those that have ended, in order of namespace and name.
    pub fn pods_on<'a>(&'a self, node: &str) -> impl Iterator<Item = &'a Object> + use<'a> {
        let names = self.pods_by_node.get(node).into_iter().flatten();
        names.filter_map(|(namespace, name)| self.get(&PODS, namespace, name))
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &Change) {
        let key = &change.key;
        if key.is_kind(&NODES) {
            self.update_roles(change);
        } else if key.is_kind(&PODS) {
            self.update_places(change);
        }
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

    /// Enters a change of a Node, which `by_key` does not contain yet, into `nodes_by_role`.
    fn update_roles(&mut self, change: &Change) {
        let name = &change.key.name;
        let new = (change.kind != ChangeKind::Deleted).then(|| labels(&change.object)).flatten();
        let old = self.by_key.get(&change.key).and_then(labels);
        if old == new {
            return;
        }
        for role in roles(old) {
            if let Some(names) = self.nodes_by_role.get_mut(role) {
                names.remove(name);
            }
        }
        for role in roles(new) {
            self.nodes_by_role.entry(role.to_owned()).or_default().insert(name.clone());
        }
    }

    /// Enters a change of a Pod, which `by_key` does not contain yet, into `pods_by_node`.
    fn update_places(&mut self, change: &Change) {
        let new = if change.kind == ChangeKind::Deleted { "" } else { node_name(&change.object) };
        let old = self.by_key.get(&change.key).map_or("", |pod| node_name(pod));
        if old == new {
            return;
        }
        let place = (change.key.namespace.clone(), change.key.name.clone());
        if let Some(pods) = self.pods_by_node.get_mut(old) {
            pods.remove(&place);
        }
        if !new.is_empty() {
            self.pods_by_node.entry(new.to_owned()).or_default().insert(place);
        }
    }

    fn namespaces(&self, group: &str, plural: &str) -> Option<&Namespaces> {
        self.groups.get(group)?.get(plural)
    }
}

fn labels(object: &Object) -> Option<&Map<String, Value>> {
    object.pointer("/metadata/labels")?.as_object()
}

/// The roles that the labels of a Node give it.
fn roles(labels: Option<&Map<String, Value>>) -> impl Iterator<Item = &str> {
    labels.into_iter().flat_map(Map::keys).filter_map(|label| label.strip_prefix(ROLE_PREFIX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(kind: ChangeKind, name: &str, role: &str) -> Change {
        let labels = json!({ (format!("{ROLE_PREFIX}{role}")): "", "role": "master" });
        let object = Object::new(json!({ "metadata": { "name": name, "labels": labels } }));
        Change { key: NODES.key("", name), kind, object, old: None }
    }

    #[test]
    fn pods_of_a_node_are_those_bound_to_it_now() {
        let mut view = View::default();
        for (kind, name, node, wanted) in [
            (ChangeKind::Added, "b", "n", "b"),
            (ChangeKind::Added, "a", "", "b"),
            (ChangeKind::Modified, "a", "n", "a b"),
            (ChangeKind::Added, "c", "other", "a b"),
            (ChangeKind::Deleted, "b", "n", "a"),
            (ChangeKind::Deleted, "c", "other", "a"),
            (ChangeKind::Modified, "a", "other", ""),
        ] {
            let object = Object::new(json!({ "metadata": { "name": name }, "spec": { "nodeName": node } }));
            view.apply(&Change { key: PODS.key("", name), kind, object, old: None });
            let names: Vec<&str> = view.pods_on("n").map(Object::name).collect();
            assert_eq!(names.join(" "), wanted, "after {kind:?} {name} on {node}");
        }
    }

    #[test]
    fn nodes_of_a_role_are_those_with_its_label_now() {
        let mut view = View::default();
        for (kind, name, role, wanted) in [
            (ChangeKind::Added, "b", "master", "b"),
            (ChangeKind::Added, "a", "master", "a b"),
            (ChangeKind::Added, "c", "worker", "a b"),
            (ChangeKind::Modified, "b", "worker", "a"),
            (ChangeKind::Modified, "c", "master", "a c"),
            (ChangeKind::Deleted, "a", "master", "c"),
        ] {
            view.apply(&change(kind, name, role));
            let names: Vec<&str> = view.nodes_of_role("master").map(Object::name).collect();
            assert_eq!(names.join(" "), wanted, "after {kind:?} {name} as {role}");
        }
    }
}
