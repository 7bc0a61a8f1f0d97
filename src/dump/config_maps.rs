//! ConfigMaps of an Insights archive, which has a file for each key: `config/configmaps/NAMESPACE/NAME/KEY`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windtunnel_core::Object;

/// A key of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    namespace: String,
    /// Of the ConfigMap.
    name: String,
    /// Of the value.
    field: String,
    value: String,
}

impl Key {
    /// Returns the key in a file at this path; `None` if the path is another one.
    pub(super) fn of(path: &str, text: &str) -> Option<Self> {
        let [namespace, name, field] = parts(path)?.map(str::to_owned);
        Some(Self { namespace, name, field, value: text.to_owned() })
    }
}

/// Returns whether a path is that of a key.
pub(super) fn is_key(path: &str) -> bool {
    parts(path).is_some()
}

fn parts(path: &str) -> Option<[&str; 3]> {
    let (before, rest) = path.rsplit_once("config/configmaps/")?;
    if !before.is_empty() && !before.ends_with('/') {
        return None;
    }
    match rest.split('/').collect::<Vec<&str>>()[..] {
        [namespace, name, key] => Some([namespace, name, key]),
        // Older archives have the ConfigMaps of one namespace only.
        [name, key] => Some(["openshift-config", name, key]),
        _ => None,
    }
}

/// The keys of all ConfigMaps so far, each with the file of the first one.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(BTreeMap<(String, String), (String, Map<String, Value>)>);

impl Keys {
    /// Adds a key of a file. Returns whether it is the first one of its ConfigMap.
    pub(super) fn add(&mut self, path: &str, key: Key) -> bool {
        let Key { namespace, name, field, value } = key;
        let (_, data) = self.0.entry((namespace, name)).or_insert_with(|| (path.to_owned(), Map::new()));
        let is_first = data.is_empty();
        data.insert(field, json!(value));
        is_first
    }

    /// Returns the ConfigMaps, each with the file of its first key.
    pub(super) fn into_objects(self) -> impl Iterator<Item = (String, Object)> {
        self.0.into_iter().map(|((namespace, name), (path, data))| {
            let object = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "namespace": namespace, "name": name },
                "data": data,
            });
            (path, Object::new(object))
        })
    }
}
