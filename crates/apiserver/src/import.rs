//! Imports objects that were read from another server, like a backup of its database. They bypass admission,
//! and keep their uids, resource versions, times and managed fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES};
use windtunnel_core::{Identity, Key, Write, condition};

use crate::call::decode;
use crate::kinds::{Kind, strategy};
use crate::metadata;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::Request;
use crate::server::ApiServer;
use crate::server::change::Change;
use crate::store::{Entry, FieldOwners, Stored};
use crate::verbs::etcd;
use crate::verbs::{Validation, validate_new};

/// The result of an import.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// Number of stored objects.
    pub stored: usize,
    /// Namespaces that were created for imported objects.
    pub namespaces: Vec<String>,
    /// Findings about objects, each with the index of its object.
    pub findings: Vec<(usize, ImportFinding)>,
}

/// A finding about an imported object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportFinding {
    /// The object is not stored, for this reason of the server.
    Rejected(String),
    /// The object is stored without these fields, which its schema does not have.
    Pruned(Vec<String>),
    /// The object is stored unchanged, although the server would reject its creation for this reason.
    Invalid(String),
}

impl ApiServer {
    /// Imports objects as they were read from another server: definitions first, then namespaces. Missing
    /// namespaces are created. Existing objects are replaced. Watches start again.
    pub fn import(&mut self, objects: Vec<Value>, now: Time) -> Imported {
        let mut imported = Imported::default();
        let revisions = objects.iter().filter_map(revision);
        self.store.advance_to(revisions.max().unwrap_or_default());
        let mut objects: Vec<(usize, Value)> = objects.into_iter().enumerate().collect();
        objects.sort_by_key(|(_, object)| !CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object));
        let others = objects.partition_point(|(_, object)| CUSTOM_RESOURCE_DEFINITIONS.is_kind_of(object));
        let others = objects.split_off(others);
        for (number, definition) in objects {
            let outcome = self.import_definition(definition, now);
            imported.add(number, outcome);
        }
        self.import_namespaces(&others, now, &mut imported);
        for (number, object) in others {
            let outcome = self.import_object(object, now);
            imported.add(number, outcome);
        }
        self.store.compact();
        self.follow_load(now);
        imported
    }

    /// Imports an established definition unchanged; creates any other definition.
    fn import_definition(&mut self, definition: Value, now: Time) -> Outcome<Option<ImportFinding>> {
        let conditions = definition["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        let established = condition::find(conditions, "Established").is_some_and(|is| is["status"] == "True");
        let name = metadata::text(&definition, "name").to_owned();
        if established {
            let verdict = self.import_object(definition, now)?;
            self.restore_definition(&name);
            return Ok(verdict);
        }
        Ok(self.create_imported(&Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition), now))
    }

    fn create_imported(&mut self, write: &Write, now: Time) -> Option<ImportFinding> {
        let answer = self.handle(&Request::from_write(write, &Identity::admin()), now).into_object();
        answer.err().map(|rejection| ImportFinding::Rejected(rejection.message))
    }

    /// Creates the missing namespaces of the objects.
    fn import_namespaces(&mut self, objects: &[(usize, Value)], now: Time, imported: &mut Imported) {
        let given = |object: &&Value| NAMESPACES.is_kind_of(object);
        let objects = || objects.iter().map(|(_, object)| object);
        let known: BTreeSet<&str> =
            objects().filter(given).map(|object| metadata::text(object, "name")).collect();
        let wanted: BTreeSet<&str> = objects().map(|object| metadata::text(object, "namespace")).collect();
        for name in wanted.difference(&known).filter(|name| !name.is_empty()) {
            if self.store.get(self.tables.namespaces, "", name).is_some() {
                continue;
            }
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            if self.create_imported(&Write::create(&NAMESPACES, namespace), now).is_none() {
                imported.namespaces.push((*name).to_owned());
            }
        }
    }

    fn import_object(&mut self, object: Value, now: Time) -> Outcome<Option<ImportFinding>> {
        let (kind, key, object, verdict) = self.adopt(object, now)?;
        self.store.restore(kind.table, &key, &object);
        Ok(verdict)
    }

    /// Repeats a change from another server: the object becomes the same as there, with a resource version of
    /// this server, and watches get an event.
    ///
    /// # Errors
    /// The reason why it cannot be stored.
    pub fn replay(&mut self, object: Value, now: Time) -> Result<(), String> {
        let replayed = self.adopt(object, now).map(|(kind, key, mut object, _)| {
            let old = self.store.get(kind.table, &key.namespace, &key.name).map(Entry::served);
            let entries = Stored::take_owners(&mut object).map(Arc::new);
            self.store.put(kind.table, &key, kind.epoch(), object, FieldOwners { entries, known: None });
            self.follow(&Change { kind: &kind, key: &key, old: old.as_deref(), now });
        });
        replayed.map_err(|rejection| rejection.message.clone())
    }

    /// Repeats a deletion from another server.
    pub fn delete_for_replay(&mut self, object: &Value, now: Time) {
        let Some(kind) = self.kind_of(object) else { return };
        let namespace = if kind.resource.namespaced { metadata::text(object, "namespace") } else { "" };
        let key = kind.key(namespace, metadata::text(object, "name"));
        let old = self.store.remove(kind.table, &key, kind.epoch());
        self.follow(&Change { kind: &kind, key: &key, old: old.as_deref(), now });
    }

    /// The object in its stored form, and a finding if there is one.
    fn adopt(
        &mut self,
        mut object: Value,
        now: Time,
    ) -> Outcome<(Arc<Kind>, Key, Value, Option<ImportFinding>)> {
        let kind = self.kind_of(&object).ok_or_else(BoxedRejection::unknown_resource)?;
        let profile = self.profile;
        if !object["metadata"].is_object() {
            return Err(BoxedRejection::bad_request("metadata: expected an object"));
        }
        let pruned = decode::normalise(&kind, &mut object, profile.minor)
            .map_err(|why| BoxedRejection::bad_request(decode::unhandled_prefix(&kind) + &why))?;
        self.complete(&kind, &mut object, now);
        strategy::complete_imported(&kind, &mut object);
        let validated = validate_new(
            &kind,
            &object,
            Validation { profile: &profile, draws: &mut self.draws, empties: &[], earlier: Vec::new() },
        );
        if let Some(custom) = kind.custom.as_ref().filter(|custom| custom.family.conversion.is_none()) {
            object = custom.convert(&object, &custom.family.storage, &kind.resource.group);
        }
        let key = kind.key(metadata::text(&object, "namespace"), metadata::text(&object, "name"));
        etcd::check(&kind, &key, &object, &FieldOwners::default())?;
        let verdict = match validated {
            Err(rejection) => Some(ImportFinding::Invalid(rejection.message.clone())),
            Ok(()) if !pruned.is_empty() => Some(ImportFinding::Pruned(pruned)),
            Ok(()) => None,
        };
        Ok((kind, key, object, verdict))
    }

    /// The served kind of an object.
    fn kind_of(&self, object: &Value) -> Option<Arc<Kind>> {
        let mut kinds = self.catalog.served();
        kinds.find(|kind| kind.rules.stored && kind.resource.is_kind_of(object)).map(Arc::clone)
    }

    /// Sets missing fields that only the server can set.
    fn complete(&mut self, kind: &Kind, object: &mut Value, now: Time) {
        let missing = |object: &Value, field: &str| metadata::text(object, field).is_empty();
        if !kind.resource.namespaced {
            metadata::metadata_mut(object).remove("namespace");
        } else if missing(object, "namespace") {
            metadata::metadata_mut(object).insert("namespace".to_owned(), json!("default"));
        }
        if missing(object, "uid") {
            let uid = self.draws.uid();
            metadata::metadata_mut(object).insert("uid".to_owned(), json!(uid));
        }
        if missing(object, "creationTimestamp") {
            metadata::metadata_mut(object).insert("creationTimestamp".to_owned(), json!(rfc3339(now)));
        }
        if revision(object).is_none() {
            self.store.advance_to(self.store.revision() + 1);
            let revision = self.store.revision().to_string();
            metadata::metadata_mut(object).insert("resourceVersion".to_owned(), json!(revision));
        }
    }
}

impl Imported {
    fn add(&mut self, number: usize, outcome: Outcome<Option<ImportFinding>>) {
        let verdict =
            outcome.unwrap_or_else(|rejection| Some(ImportFinding::Rejected(rejection.message.clone())));
        if !matches!(verdict, Some(ImportFinding::Rejected(_))) {
            self.stored += 1;
        }
        self.findings.extend(verdict.map(|verdict| (number, verdict)));
    }
}

/// The resource version of an object, if it is a number.
fn revision(object: &Value) -> Option<u64> {
    metadata::text(object, "resourceVersion").parse().ok()
}
