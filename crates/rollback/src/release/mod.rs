//! The two releases that are compared: their definitions and their Kubernetes minors.

mod definition;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use definition::Version;
pub use definition::{Definition, DefinitionError};

/// A release: a name for messages, its Kubernetes minor and its CustomResourceDefinitions.
#[derive(Debug, Clone)]
pub struct Release {
    name: String,
    kubernetes: u32,
    definitions: BTreeMap<String, Definition>,
    manifests: Vec<Value>,
}

impl Release {
    /// Creates a release without definitions. `kubernetes` is the x of Kubernetes 1.x.
    pub fn new(name: impl Into<String>, kubernetes: u32) -> Self {
        Self { name: name.into(), kubernetes, definitions: BTreeMap::new(), manifests: Vec::new() }
    }

    /// Adds a definition. Returns the one of the same name that it replaces.
    pub fn add(&mut self, definition: Definition) -> Option<Definition> {
        self.definitions.insert(definition.name().to_owned(), definition)
    }

    /// Parses and adds a CustomResourceDefinition.
    ///
    /// # Errors
    /// It lacks a part that a comparison needs.
    pub fn add_object(&mut self, object: &Value) -> Result<(), DefinitionError> {
        self.add(Definition::parse(object)?);
        Ok(())
    }

    /// Adds another object that the release applies.
    pub fn add_manifest(&mut self, object: Value) {
        self.manifests.push(object);
    }

    /// The objects that the release applies, without its definitions.
    pub fn manifests(&self) -> &[Value] {
        &self.manifests
    }

    /// The name in messages, such as `4.14`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The x of its Kubernetes 1.x.
    pub fn kubernetes(&self) -> u32 {
        self.kubernetes
    }

    /// The definition with this name.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// All definitions, by name.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.values()
    }
}
