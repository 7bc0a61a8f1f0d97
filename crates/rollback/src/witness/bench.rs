//! The needs of a search: servers of both releases, their schemas, and texts from their rules.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::{Object, Resource};

use super::dice::Dice;
use super::generate::{Generator, Pair, Pin};
use super::texts::Texts;
use crate::release::Version;
use crate::schema::{Node, Path, Place};
use crate::servers::{NAMESPACE, Side, WriteRejection};

/// The servers and schemas of one version of a definition.
#[derive(Debug)]
pub(crate) struct Bench {
    newer: Side,
    older: Side,
    pub(super) resource: Resource,
    pub(super) newer_schema: Arc<Node>,
    pub(super) older_schema: Arc<Node>,
    newer_has_status: bool,
    older_has_status: bool,
    pub(super) texts: Texts,
}

impl Bench {
    /// A bench for a version that both releases serve.
    pub(crate) fn new(newer: (Side, &Version), older: (Side, &Version), resource: Resource) -> Self {
        let (newer, now) = newer;
        let (older, before) = older;
        Self {
            newer,
            older,
            resource,
            texts: Texts::with_hints(all_literals(&[&now.schema, &before.schema])),
            newer_schema: Arc::clone(&now.schema),
            older_schema: Arc::clone(&before.schema),
            newer_has_status: now.has_status,
            older_has_status: before.has_status,
        }
    }

    /// The object that the newer release stores.
    pub(super) fn store_newer(&mut self, object: &Value) -> Result<Object, WriteRejection> {
        self.newer.probe(&self.resource, self.newer_has_status, object)
    }

    /// The object that the older release stores.
    pub(super) fn store_older(&mut self, object: &Value) -> Result<Object, WriteRejection> {
        self.older.probe(&self.resource, self.older_has_status, object)
    }

    /// Changes an object on a server of the newer release.
    pub(super) fn change_newer(
        &mut self,
        states: (&Value, &Value),
        is_status: bool,
    ) -> Result<(), WriteRejection> {
        self.newer.probe_change(&self.resource, self.newer_has_status, states, is_status)
    }

    /// Changes an object on a server of the older release.
    pub(super) fn change_older(
        &mut self,
        states: (&Value, &Value),
        is_status: bool,
    ) -> Result<(), WriteRejection> {
        self.older.probe_change(&self.resource, self.older_has_status, states, is_status)
    }

    /// Whether a change of this part of an object is written to the status subresource.
    pub(super) fn is_status(&self, section: &str) -> bool {
        section == "status" && self.newer_has_status && self.older_has_status
    }

    /// Whether an object is of this kind and version.
    pub(crate) fn is_kind_of(&self, object: &Value) -> bool {
        self.resource.is_kind_of(object)
    }

    /// Moves an object into the namespace that the servers have, without owners and finalizers.
    pub(super) fn move_to_namespace(&self, object: &mut Value) {
        if self.resource.namespaced {
            object["metadata"]["namespace"] = json!(NAMESPACE);
        }
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("ownerReferences");
            meta.remove("finalizers");
            meta.remove("deletionTimestamp");
        }
    }

    /// The path of a place in the schema of the newer release.
    pub(crate) fn path(&self, place: &Place) -> Path {
        let schema = &self.newer_schema;
        place.path(|path, name| {
            schema.at(path.steps()).is_some_and(|node| !node.properties.contains_key(name))
        })
    }

    /// A whole object that fits both schemas, with a part that is pinned.
    pub(super) fn object(
        &self,
        older: Option<&Node>,
        pin: Option<Pin<'_>>,
        optional: u64,
        dice: &mut Dice,
    ) -> Option<Value> {
        let pair = Pair { newer: Some(&self.newer_schema), older };
        let generator = Generator { texts: &self.texts, optional };
        let mut object = generator.value(pair, pin, dice, 0)?;
        self.complete(&mut object);
        Some(object)
    }

    /// Sets kind, name and namespace. A generated name stays.
    pub(super) fn complete(&self, object: &mut Value) {
        object["apiVersion"] = json!(self.resource.api_version());
        object["kind"] = json!(self.resource.kind);
        let name = object["metadata"]["name"].as_str().unwrap_or("witness").to_owned();
        object["metadata"] = json!({ "name": name });
        if self.resource.namespaced {
            object["metadata"]["namespace"] = json!(NAMESPACE);
        }
    }
}

/// The texts in quotes in the rules of schemas, each once.
fn all_literals(schemas: &[&Node]) -> Vec<String> {
    let mut found = Vec::new();
    let mut visit = |node: &Node| {
        for text in node.rules.iter().flat_map(|rule| &rule.literals) {
            if !text.is_empty() && !found.contains(text) {
                found.push(text.clone());
            }
        }
    };
    for schema in schemas {
        schema.each(&mut visit);
    }
    found
}
