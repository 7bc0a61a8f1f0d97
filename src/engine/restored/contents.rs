//! The objects of a cluster in the form in which clusters are compared.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::pod::MIRROR;
use windtunnel_core::{Key, Object, View, condition, pod, text_of};

use super::volatile::{Cleaner, Volatile};

/// The objects of a cluster without volatile fields. Pods with generated names are counted by the template of their
/// names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::engine) struct Contents(BTreeMap<Key, Content>);

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct Content {
    /// Its kind.
    pub(in crate::engine) kind: String,
    /// Its fields.
    pub(in crate::engine) value: Value,
}

impl Contents {
    /// The objects of a view without the parts in `volatile`.
    pub(in crate::engine) fn of(view: &View, volatile: &[&'static [Volatile]]) -> Self {
        let cleaner = Cleaner::new(volatile);
        let mut contents = Self::default();
        for (key, object) in view.objects() {
            contents.add(&cleaner, key, object);
        }
        contents
    }

    fn add(&mut self, cleaner: &Cleaner, key: Key, object: &Object) {
        let kind = object.text("/kind");
        let prefix = object.text("/metadata/generateName");
        let is_pod = kind == "Pod";
        if cleaner.ignores(kind, !prefix.is_empty()) {
            return;
        }
        if is_pod && object.annotation(MIRROR).is_none() {
            if !pod::has_ended(object) {
                let name = if prefix.is_empty() { key.name.clone() } else { format!("{prefix}*") };
                self.count_pod(Key { name, ..key }, object);
            }
            return;
        }
        let mut value = object.to_value();
        cleaner.clean(kind, &mut value);
        self.0.insert(key, Content { kind: kind.to_owned(), value });
    }

    fn count_pod(&mut self, key: Key, pod: &Object) {
        let none = || Content { kind: "Pod".to_owned(), value: json!({ "pods": 0, "ready": 0 }) };
        let counts = &mut self.0.entry(key).or_insert_with(none).value;
        let ready = i64::from(condition::is_true(pod, "Ready"));
        counts["pods"] = json!(counts["pods"].as_i64().unwrap_or(0) + 1);
        counts["ready"] = json!(counts["ready"].as_i64().unwrap_or(0) + ready);
    }

    /// The object with this key.
    pub(in crate::engine) fn get(&self, key: &Key) -> Option<&Content> {
        self.0.get(key)
    }

    /// All objects, in order of their keys.
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = (&Key, &Content)> {
        self.0.iter()
    }

    /// All objects, for changes.
    pub(in crate::engine) fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut Content)> {
        self.0.iter_mut()
    }
}

impl Content {
    /// The first owner of the object as `Kind/name`; empty without one.
    pub(in crate::engine) fn owner(&self) -> String {
        let owner = &self.value["metadata"]["ownerReferences"][0];
        match (text_of(owner, "kind"), text_of(owner, "name")) {
            ("", _) => String::new(),
            (kind, name) => format!("{kind}/{name}"),
        }
    }
}

/// `Kind/name` or `Kind/namespace/name` of the object with this key.
pub(in crate::engine) fn object_name(kind: &str, key: &Key) -> String {
    let Key { namespace, name, .. } = key;
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}
