//! A CustomResourceDefinition, as far as the comparison looks at it.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_core::Resource;

use crate::schema::Node;

/// Why an object is not a definition that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// A required field is missing or has another type.
    #[error(
        "expected a CustomResourceDefinition with {0}, found none: compare definitions of apiextensions.k8s.io/v1"
    )]
    Missing(&'static str),
    /// A version has no schema.
    #[error(
        "expected spec.versions[{index}].schema.openAPIV3Schema of version {version}, found none: add a structural schema"
    )]
    NoSchema {
        /// The index of the version.
        index: usize,
        /// Its name.
        version: String,
    },
}

/// A CustomResourceDefinition.
#[derive(Debug, Clone)]
pub struct Definition {
    name: String,
    object: Arc<Value>,
    resource: Resource,
    versions: Vec<Version>,
}

/// A version of a definition.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of a version")]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) is_served: bool,
    pub(crate) is_stored: bool,
    pub(crate) has_status: bool,
    pub(crate) has_scale: bool,
    pub(crate) columns: Value,
    pub(crate) selectable: Value,
    pub(crate) schema: Arc<Node>,
}

impl Definition {
    /// Parses a definition.
    ///
    /// # Errors
    /// It lacks a name, a group, a kind, a plural, a stored version, or the schema of a version.
    pub fn parse(object: &Value) -> Result<Self, DefinitionError> {
        let name = object["metadata"]["name"].as_str().ok_or(DefinitionError::Missing("metadata.name"))?;
        let list = object["spec"]["versions"].as_array().ok_or(DefinitionError::Missing("spec.versions"))?;
        let versions: Vec<Version> = list
            .iter()
            .enumerate()
            .map(|(index, version)| Version::parse(index, version))
            .collect::<Result<_, _>>()?;
        let resource = Resource::of_definition(object)
            .ok_or(DefinitionError::Missing("spec.group, spec.names and a stored version"))?;
        Ok(Self {
            name: name.to_owned(),
            object: Arc::new(without_server_fields(object)),
            resource,
            versions,
        })
    }

    /// The name, such as `clusterversions.config.openshift.io`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object, without the fields that a server sets.
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The kind, in the stored version.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The kind in one of its versions.
    pub(crate) fn resource_in(&self, version: &str) -> Resource {
        Resource { version: Cow::Owned(version.to_owned()), ..self.resource.clone() }
    }

    /// All versions, in the order of the definition.
    pub(crate) fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// The version with this name.
    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The name of the version that is stored.
    pub(crate) fn stored_version(&self) -> &str {
        &self.resource.version
    }
}

impl Version {
    fn parse(index: usize, version: &Value) -> Result<Self, DefinitionError> {
        let name = version["name"].as_str().ok_or(DefinitionError::Missing("names of versions"))?;
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            return Err(DefinitionError::NoSchema { index, version: name.to_owned() });
        }
        let subresource = |name: &str| !version["subresources"][name].is_null();
        Ok(Self {
            name: name.to_owned(),
            is_served: version["served"] == true,
            is_stored: version["storage"] == true,
            has_status: subresource("status"),
            has_scale: subresource("scale"),
            columns: version["additionalPrinterColumns"].clone(),
            selectable: version["selectableFields"].clone(),
            schema: Arc::new(Node::parse(schema)),
        })
    }
}

/// A copy with only the fields that a manifest has.
fn without_server_fields(object: &Value) -> Value {
    let meta = &object["metadata"];
    let mut kept = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "spec": object["spec"],
        "metadata": { "name": meta["name"] } });
    for field in ["annotations", "labels"] {
        if !meta[field].is_null() {
            kept["metadata"][field] = meta[field].clone();
        }
    }
    kept
}
