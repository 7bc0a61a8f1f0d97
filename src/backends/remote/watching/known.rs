//! The known state of a cluster's objects, from answers and from watches, whichever arrive first.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windtunnel_core::{Change, ChangeKind, Key, Object, Resource};

use crate::backends::remote::marks::stamp::RUN;
use crate::record::redact_secret;

/// The newest known state of each object, and the changes that led there.
#[derive(Debug, Default)]
pub(in crate::backends::remote) struct Known {
    objects: BTreeMap<Key, Object>,
    /// The state of each object before its last change.
    before: BTreeMap<Key, Object>,
    /// The revision at which each missing object was removed.
    gone: BTreeMap<Key, u64>,
    changes: Vec<Change>,
    /// Whether the run created the cluster, so that all Secrets are its own.
    is_own: bool,
}

impl Known {
    /// Returns an empty state for a cluster that the run created, or for one that others use as well.
    pub(in crate::backends::remote) fn of(is_own: bool) -> Self {
        Self { is_own, ..Self::default() }
    }

    /// Returns the known state of an object.
    pub(in crate::backends::remote) fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    /// Returns the state of an object before its last change.
    pub(in crate::backends::remote) fn before(&self, key: &Key) -> Option<&Object> {
        self.before.get(key)
    }

    /// Takes the changes since the last call.
    pub(in crate::backends::remote) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Adds a state of an object; ignores a state that is not newer than the known one.
    pub(in crate::backends::remote) fn observe(&mut self, resource: &Resource, mut object: Value) {
        // The certificates of simulated components are not secret, and their creators read them.
        if !self.is_own && object["metadata"]["labels"][RUN].is_null() {
            hide_secrets(resource, &mut object);
        }
        let object = Object::new(with_kind(object, resource));
        let key = resource.key_of(&object);
        let at = revision(&object);
        let old = self.objects.get(&key).cloned();
        let newest = old.as_ref().map(revision).or_else(|| self.gone.get(&key).copied());
        if newest.is_some_and(|newest| newest >= at) {
            return;
        }
        self.gone.remove(&key);
        let kind = if old.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.objects.insert(key.clone(), object.clone());
        match &old {
            Some(old) => self.before.insert(key.clone(), old.clone()),
            None => self.before.remove(&key),
        };
        self.changes.push(Change { key, kind, object, old });
    }

    /// Removes an object at a revision; a newer known state stays.
    pub(in crate::backends::remote) fn remove(&mut self, key: &Key, at: u64) {
        if self.objects.get(key).is_some_and(|object| revision(object) > at) {
            return;
        }
        self.gone.insert(key.clone(), at);
        self.before.remove(key);
        if let Some(old) = self.objects.remove(key) {
            let object = old.clone();
            self.changes.push(Change { key: key.clone(), kind: ChangeKind::Deleted, object, old: Some(old) });
        }
    }

    /// Replaces all objects of a kind by a list at a revision.
    pub(in crate::backends::remote) fn replace(&mut self, resource: &Resource, items: Vec<Value>, at: u64) {
        let there: BTreeSet<Key> = items.iter().map(|item| resource.key_of(item)).collect();
        let known = self.objects.keys().filter(|key| key.is_kind(resource) && !there.contains(key));
        for key in known.cloned().collect::<Vec<_>>() {
            self.remove(&key, at);
        }
        for item in items {
            self.observe(resource, item);
        }
    }
}

/// Returns the revision of a state. Every API server that uses etcd has numeric resource versions.
pub(in crate::backends::remote) fn revision(object: &Object) -> u64 {
    object.resource_version().parse().unwrap_or(0)
}

/// Adds kind and API version, which the items of a list lack.
fn with_kind(mut object: Value, resource: &Resource) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
        fields.entry("kind").or_insert_with(|| resource.kind.clone().into());
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            // Managed fields are not part of the output of a run.
            metadata.remove("managedFields");
        }
    }
    object
}

/// Clears the values in Secrets of others, which would otherwise appear in records and reports.
fn hide_secrets(resource: &Resource, object: &mut Value) {
    if resource.group.is_empty() && resource.plural == "secrets" {
        // Copies in annotations are recognized by the values.
        redact_secret(object);
        for field in ["data", "stringData"] {
            if let Some(Value::Object(entries)) = object.get_mut(field) {
                entries.values_mut().for_each(|value| *value = Value::from(""));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::{CONFIG_MAPS, SECRETS};

    use super::*;

    fn object(name: &str, revision: u64) -> Value {
        json!({ "metadata": { "namespace": "ns", "name": name, "resourceVersion": revision.to_string() } })
    }

    fn taken(known: &mut Known) -> Vec<String> {
        let changes = known.take().into_iter();
        changes
            .map(|change| format!("{:?} {}@{}", change.kind, change.key.name, revision(&change.object)))
            .collect()
    }

    #[test]
    fn reports_only_newer_states() {
        let mut known = Known::default();
        known.observe(&CONFIG_MAPS, object("a", 5));
        known.observe(&CONFIG_MAPS, object("a", 5));
        known.observe(&CONFIG_MAPS, object("a", 4));
        known.observe(&CONFIG_MAPS, object("a", 7));
        assert_eq!(taken(&mut known), ["Added a@5", "Modified a@7"]);
    }

    #[test]
    fn an_old_state_does_not_restore_a_removed_object() {
        let mut known = Known::default();
        let key = CONFIG_MAPS.key("ns", "a");
        known.observe(&CONFIG_MAPS, object("a", 5));
        known.remove(&key, 8);
        known.observe(&CONFIG_MAPS, object("a", 6));
        known.observe(&CONFIG_MAPS, object("a", 9));
        known.remove(&key, 8);
        assert_eq!(taken(&mut known), ["Added a@5", "Deleted a@5", "Added a@9"]);
    }

    #[test]
    fn a_list_reports_added_and_removed_objects() {
        let mut known = Known::default();
        for name in ["a", "b"] {
            known.observe(&CONFIG_MAPS, object(name, 5));
        }
        // The run created it after the list.
        known.observe(&CONFIG_MAPS, object("own", 12));
        taken(&mut known);
        known.replace(&CONFIG_MAPS, vec![object("b", 5), object("c", 7)], 10);
        assert_eq!(taken(&mut known), ["Deleted a@5", "Added c@7"]);
    }

    #[test]
    fn keeps_the_values_of_its_own_secrets() {
        let mut secret = object("s", 1);
        secret["data"] = json!({ "tls.crt": "aHVudGVyMg==" });
        let mut marked = secret.clone();
        marked["metadata"]["labels"] = json!({ RUN: "r1" });
        for (mut known, secret) in [(Known::of(true), secret), (Known::of(false), marked)] {
            known.observe(&SECRETS, secret);
            let secret = known.get(&SECRETS.key("ns", "s")).unwrap();
            assert_eq!(secret["data"]["tls.crt"], "aHVudGVyMg==");
        }
    }

    #[test]
    fn clears_the_values_of_secrets_of_others() {
        let mut known = Known::of(false);
        let mut secret = object("s", 1);
        secret["data"] = json!({ "password": "aHVudGVyMg==" });
        let copy = "{\"stringData\":{\"password\":\"hunter2\"}}";
        secret["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/last-applied-configuration": copy, "kapp.k14s.io/original": copy });
        known.observe(&SECRETS, secret);
        let text = known.get(&SECRETS.key("ns", "s")).unwrap().to_value().to_string();
        assert!(
            text.contains("password") && !text.contains("hunter2") && !text.contains("aHVudGVyMg"),
            "{text}"
        );
    }
}
