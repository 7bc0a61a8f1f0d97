//! The work of the server's own controllers after a CustomResourceDefinition is written: names are accepted,
//! the kind is served, a new schema takes effect, and deleting a definition deletes its objects. All this
//! happens at once; a real server takes some tens of milliseconds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::{Key, Resource, condition, resources};

use crate::crd::Definition;
use crate::kinds::custom::Family;
use crate::kinds::custom::conversion::Conversion;
use crate::kinds::view::View;
use crate::kinds::{Custom, Dependents, Generation, Kind, Rules, StatusMetadata};
use crate::metadata::{self, Checks};
use crate::names::NameRule;
use crate::profile::Profile;
use crate::server::ApiServer;
use crate::server::change::{Change, Derived, Reload};
use crate::server::definitions::naming::{self, ClaimedNames, set_terminating};
use crate::store::{Entry, TableId};

/// The finalizer that keeps a definition until its objects are deleted.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Sets the initial fields of a new definition.
pub(crate) fn prepare_create(crd: &mut Value, profile: &Profile) {
    if !profile.selectable_fields {
        drop_selectable(crd);
    }
    let storage = storage_version(crd);
    crd["status"] = json!({
        "conditions": null,
        "acceptedNames": { "plural": "", "kind": "" },
        "storedVersions": storage.into_iter().collect::<Vec<_>>(),
    });
}

/// Sets the condition of a definition that is marked for deletion.
pub(crate) fn prepare_deletion(crd: &mut Value, now: Time) {
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_terminating(crd, "InstanceDeletionPending", message, now);
}

/// Completes a definition on a write, or its status if that is the subresource.
pub(crate) fn prepare_write(crd: &mut Value, old: &Value, subresource: &str, profile: &Profile) {
    if subresource.is_empty() {
        prepare_update(crd, old, profile);
    } else {
        prepare_status(crd);
    }
}

/// Completes a definition on a write of its spec: `storedVersions` keeps all former storage versions.
fn prepare_update(crd: &mut Value, old: &Value, profile: &Profile) {
    if !profile.selectable_fields && !has_selectable(old) {
        drop_selectable(crd);
    }
    let Some(storage) = storage_version(crd) else { return };
    if !crd["status"].is_object() {
        crd["status"] = json!({});
    }
    if !crd["status"]["storedVersions"].is_array() {
        crd["status"]["storedVersions"] = json!([]);
    }
    if let Value::Array(stored) = &mut crd["status"]["storedVersions"]
        && !stored.iter().any(|version| *version == storage)
    {
        stored.push(json!(storage));
    }
}

/// Fills the default of `storedVersions` on a write of a definition's status, as decoding does in a real server.
fn prepare_status(crd: &mut Value) {
    let Some(storage) = storage_version(crd) else { return };
    let Some(status) = crd.get_mut("status").and_then(Value::as_object_mut) else { return };
    if status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        status.insert("storedVersions".to_owned(), json!([storage]));
    }
}

fn storage_version(crd: &Value) -> Option<String> {
    let versions = crd["spec"]["versions"].as_array()?;
    let storage = versions.iter().find(|version| version["storage"] == true)?;
    storage["name"].as_str().map(str::to_owned)
}

fn has_selectable(crd: &Value) -> bool {
    let versions = crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    versions.iter().any(|version| !version["selectableFields"].is_null())
}

/// A server that does not serve selectable fields does not store them either, unless they were stored before.
fn drop_selectable(crd: &mut Value) {
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version.as_object_mut().map(|version| version.remove("selectableFields"));
    }
}

/// Serves the kinds of definitions.
pub(in crate::server) struct ServedDefinitions;

impl Derived for ServedDefinitions {
    fn follow(&self, server: &mut ApiServer, change: &Change<'_>) {
        if change.kind.table == server.tables.definitions {
            server.apply_definition(change.key, change.old, change.now);
        } else if change.kind.custom.is_some() && !change.is_stored(&server.store) {
            server.remove_emptied_definition(change.kind, change.now);
        }
    }

    fn follow_reload(&self, server: &mut ApiServer, reload: &Reload<'_>) {
        if reload.kind.table != server.tables.definitions {
            return;
        }
        for key in reload.keys {
            if reload.is_undo {
                server.revert_definition(&key.name);
            } else {
                server.restore_definition(&key.name);
            }
        }
    }
}

impl ApiServer {
    /// Applies a written definition: accepts its names and serves its kinds. `old` is the previous definition.
    pub(crate) fn apply_definition(&mut self, key: &Key, old: Option<&Value>, now: Time) {
        let Some(entry) = self.store.get(self.tables.definitions, "", &key.name) else { return };
        let crd = entry.served();
        if metadata::is_terminating(&crd) {
            self.finish_definition(key, &crd, now);
            return;
        }
        let changed = old.is_none_or(|old| old["spec"] != crd["spec"]);
        let claimed = ClaimedNames::of_others(&self.store, self.tables.definitions, &crd);
        for status in naming::statuses(&crd, &claimed, now) {
            self.write_definition_status(key, status, now);
        }
        if changed {
            let epoch = self.definitions.next_epoch();
            self.serve_definition(&crd, epoch, false);
            let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let table = self.custom_table(text("/spec/group"), text("/spec/names/plural"));
            self.definitions.record_storage_change(table, now);
            let versions = |crd: &Value| crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
            let versions: Vec<Value> = [old.map(versions).unwrap_or_default(), versions(&crd)].concat();
            let names = versions.iter().filter_map(|version| version["name"].as_str());
            self.follow_versions(text("/spec/group"), names, now);
        }
    }

    /// Serves a definition that was stored before the server started.
    pub(crate) fn restore_definition(&mut self, name: &str) {
        let Some(entry) = self.store.get(self.tables.definitions, "", name) else { return };
        let crd = entry.served();
        let epoch = self.definitions.next_epoch();
        self.serve_definition(&crd, epoch, metadata::is_terminating(&crd));
    }

    /// Reverts to the definition before a write that is undone, or removes it if there was none.
    fn revert_definition(&mut self, name: &str) {
        if let Some((plural, group)) = name.split_once('.') {
            self.catalog.replace_versions(group, plural, Vec::new());
        }
        self.definitions.next_epoch();
        self.restore_definition(name);
    }

    /// The table of custom resources of a kind.
    pub(crate) fn custom_table(&mut self, group: &str, plural: &str) -> TableId {
        self.definitions.table(group, plural, &mut self.store)
    }

    /// Adds the versions of a definition to the catalog, and reads its objects again.
    fn serve_definition(&mut self, crd: &Value, epoch: u64, terminating: bool) {
        let definition = Definition::read(crd);
        let Some(storage) = definition.storage().map(Arc::clone) else { return };
        let table = self.custom_table(&definition.group, &definition.plural);
        let stored = self.store.get(self.tables.definitions, "", metadata::text(crd, "name"));
        let stored = stored.map(Entry::served).unwrap_or_default();
        let accepted = condition::find(
            stored["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default(),
            "Established",
        )
        .is_some_and(|found| found["status"] == "True");
        let conversion = Conversion::read(crd).map(Arc::new);
        let by_webhook = conversion.is_some();
        let has_one_version = definition.versions.len() == 1;
        let storage_of_all = Arc::clone(&storage);
        let family = Arc::new(Family {
            epoch,
            storage: storage_of_all,
            versions: definition.versions.clone(),
            has_lost_version: AtomicBool::new(false),
            has_one_version,
            terminating,
            conversion,
        });
        let mut kinds: Vec<Kind> = if accepted { kinds(&definition, &family, table) } else { Vec::new() };
        kinds.sort_by_key(|kind| version_order(&kind.resource.version));
        self.catalog.replace_versions(&definition.group, &definition.plural, kinds);
        let resource = resource(&definition, &storage.name);
        let key = |namespace: &str, name: &str| resource.key(namespace, name);
        self.store.reread(table, epoch, key, |stored| {
            family.note_lost_version(stored);
            // Until the webhook converts an object, read it by its own version.
            let own = definition.versions.iter().filter(|_| by_webhook).find(|version| {
                stored["apiVersion"].as_str().and_then(|text| text.split_once('/')).map(|(_, name)| name)
                    == Some(&*version.name)
            });
            own.unwrap_or(&storage).read_stored(stored, &definition.group)
        });
    }

    /// Deletes the objects of a definition that is being deleted, and then the definition itself.
    fn finish_definition(&mut self, key: &Key, crd: &Value, now: Time) {
        let mut next = crd.clone();
        let message = "CustomResource deletion is in progress";
        set_terminating(&mut next, "InstanceDeletionInProgress", message, now);
        if next != *crd {
            self.write_definition_status(key, next, now);
        }
        let definition = Definition::read(crd);
        // The schema is the same, so watches continue until the last object is deleted.
        let served = self.catalog.versions(&definition.group, &definition.plural).first();
        let epoch = served.map_or(0, |kind| kind.epoch());
        self.serve_definition(crd, epoch, true);
        let kinds = self.catalog.versions(&definition.group, &definition.plural);
        if let Some(kind) = kinds.first().cloned() {
            let objects: Vec<(String, String)> = self
                .store
                .list(kind.table, "")
                .map(|(namespace, name, _)| (namespace.to_owned(), name.to_owned()))
                .collect();
            for (namespace, name) in objects {
                self.delete_internally(&kind, &namespace, &name, now);
            }
            if self.store.list(kind.table, "").next().is_some() {
                return;
            }
        }
        self.drop_definition(key, &definition, now);
    }

    /// Removes a definition when its last object is deleted.
    fn remove_emptied_definition(&mut self, kind: &Kind, now: Time) {
        let terminating = kind.custom.as_ref().is_some_and(|custom| custom.family.terminating);
        if !terminating || self.store.list(kind.table, "").next().is_some() {
            return;
        }
        let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
        let key = resources::CUSTOM_RESOURCE_DEFINITIONS.key("", &name);
        if let Some(entry) = self.store.get(self.tables.definitions, "", &name) {
            let definition = Definition::read(&entry.served());
            self.drop_definition(&key, &definition, now);
        }
    }

    fn drop_definition(&mut self, key: &Key, definition: &Definition, now: Time) {
        self.catalog.replace_versions(&definition.group, &definition.plural, Vec::new());
        self.definitions.next_epoch();
        let Some(entry) = self.store.get(self.tables.definitions, "", &key.name) else { return };
        let stored = entry.served();
        let others = metadata::finalizers(&stored).into_iter().filter(|name| *name != FINALIZER);
        let others: Vec<String> = others.map(str::to_owned).collect();
        if others.is_empty() {
            self.store.remove(self.tables.definitions, key, 0);
            for name in naming::waiting(&self.store, self.tables.definitions, &definition.group) {
                self.apply_definition(&resources::CUSTOM_RESOURCE_DEFINITIONS.key("", &name), None, now);
            }
            let names = definition.versions.iter().map(|version| &*version.name);
            self.follow_versions(&definition.group, names, now);
            return;
        }
        let mut next = (*stored).clone();
        next["metadata"]["finalizers"] = json!(others);
        self.store.rewrite(self.tables.definitions, key, 0, next);
    }
}

/// The verbs of a custom resource.
const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

fn kinds(definition: &Definition, family: &Arc<Family>, table: usize) -> Vec<Kind> {
    let served = definition.versions.iter().filter(|version| version.served);
    served
        .map(|version| Kind {
            resource: resource(definition, &version.name),
            list_kind: definition.list_kind.clone(),
            singular: definition.singular.clone(),
            short_names: definition.short_names.clone(),
            categories: definition.categories.clone(),
            table,
            rules: Rules {
                stored: true,
                names: NameRule::Subdomain,
                status: version.status,
                status_metadata: StatusMetadata::Ignored,
                generation: Generation::Specification,
                unconditional_update: false,
                create_on_update: false,
                verbs: VERBS,
                dependents: Dependents::Deleted,
            },
            minors: 0..=u32::MAX,
            view: View::Storage,
            deprecation: None,
            metadata: Checks::CUSTOM,
            defaults: None,
            validators: None,
            subresources: &[],
            custom: Some(Custom { family: Arc::clone(family), version: Arc::clone(version) }),
        })
        .collect()
}

fn resource(definition: &Definition, version: &str) -> Resource {
    Resource {
        group: definition.group.clone().into(),
        version: version.to_owned().into(),
        kind: definition.kind.clone().into(),
        plural: definition.plural.clone().into(),
        namespaced: definition.namespaced,
    }
}

/// Sort key of versions: stable before beta before alpha, higher before lower, other names last
/// (`version.CompareKubeAwareVersionStrings`).
fn version_order(version: &str) -> (u8, std::cmp::Reverse<u32>, std::cmp::Reverse<u32>, String) {
    use std::cmp::Reverse;
    let parsed = version.strip_prefix('v').and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, tail) = rest.split_at(digits);
        let major: u32 = major.parse().ok()?;
        let rank = |stage: u8, tail: &str| Some((stage, Reverse(major), Reverse(tail.parse::<u32>().ok()?)));
        match tail {
            "" => Some((0, Reverse(major), Reverse(0))),
            _ => tail
                .strip_prefix("beta")
                .and_then(|t| rank(1, t))
                .or_else(|| rank(2, tail.strip_prefix("alpha")?)),
        }
    });
    parsed.map_or((3, Reverse(0), Reverse(0), version.to_owned()), |(stage, major, minor)| {
        (stage, major, minor, String::new())
    })
}
