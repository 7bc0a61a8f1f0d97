//! Which kinds there are and how each of them behaves.

pub(crate) mod builtin;
pub(crate) mod catalog;
pub(crate) mod defaults;
pub(crate) mod facts;
pub(crate) mod quantity;
pub(crate) mod strategy;
pub(crate) mod typed;
pub(crate) mod validation;
pub(crate) mod view;

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;

use super::crd::{Conversion, Family, Version};
use super::names::NameRule;
use super::store::TableId;
pub(crate) use builtin::Subresource;
use view::View;

/// A kind as one of its versions serves it.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "`listKind` is what the API calls it")]
pub(crate) struct Kind {
    pub(crate) resource: Resource,
    pub(crate) list_kind: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) table: TableId,
    pub(crate) rules: Rules,
    /// The Kubernetes minors that serve it.
    pub(crate) minors: RangeInclusive<u32>,
    /// How it looks at what is stored; custom resources have their own conversions.
    pub(crate) view: View,
    /// Since which minor its use is warned of, and the warning; definitions have their own.
    pub(crate) deprecation: Option<(u32, String)>,
    /// What fills in what an object lacks.
    pub(crate) defaults: Option<defaults::Filler>,
    /// What checks its objects.
    pub(crate) validators: Option<validation::Validators>,
    /// What there is below an object beside its status.
    pub(crate) subresources: &'static [Subresource],
    /// What its CustomResourceDefinition says, if it has one.
    pub(crate) custom: Option<Custom>,
}

/// What a CustomResourceDefinition says of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Custom {
    /// What all versions share.
    pub(crate) family: Arc<Family>,
    /// This version.
    pub(crate) version: Arc<Version>,
}

impl Custom {
    /// An object of any version as one of `version`.
    pub(crate) fn convert(&self, object: &Value, version: &Version, group: &str) -> Value {
        match &self.family.conversion {
            Some(_) if is_of(object, group, &version.name) => object.clone(),
            Some(conversion) => conversion.convert(object, version),
            None => version.convert(object, group),
        }
    }
}

/// Whether an object is of that group and version.
fn is_of(object: &Value, group: &str, version: &str) -> bool {
    let given = object["apiVersion"].as_str().and_then(|text| text.split_once('/'));
    given == Some((group, version))
}

/// How the server treats a kind.
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) names: NameRule,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    /// What a status write takes of the metadata.
    pub(crate) status_metadata: StatusMetadata,
    /// Whether changes of the specification are counted in `metadata.generation`.
    pub(crate) generation: Generation,
    /// Whether an update without resource version overwrites.
    pub(crate) unconditional_update: bool,
    /// Whether an update of an object that is not there creates it.
    pub(crate) create_on_update: bool,
    /// Whether objects are kept. Others are questions: to create one is to ask it.
    pub(crate) stored: bool,
    /// The verbs of the resource itself, in the order in which discovery lists them.
    pub(crate) verbs: &'static [&'static str],
    /// What becomes of dependents where a deletion does not say.
    pub(crate) dependents: Dependents,
}

/// What becomes of the dependents of an object whose deletion names no policy
/// (`rest.GarbageCollectionPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// The garbage collector deletes them.
    Deleted,
    /// They stay, without an owner.
    Orphaned,
    /// The kind never has any: policies mean nothing to it.
    Unsupported,
}

/// What a status write takes of the metadata it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusMetadata {
    /// Everything that an update may change.
    Taken,
    /// Everything but labels.
    TakenButLabels,
    /// Nothing.
    Ignored,
}

/// What counts for `metadata.generation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The kind has none.
    None,
    /// Everything but metadata and status.
    Specification,
    /// Also annotations.
    SpecificationAndAnnotations,
}

impl Kind {
    /// The webhook that converts between the versions of this kind, if there is one.
    pub(crate) fn conversion(&self) -> Option<&Arc<Conversion>> {
        self.custom.as_ref()?.family.conversion.as_ref()
    }

    /// An object of any version as one of this version.
    pub(crate) fn convert(&self, object: &Value) -> Value {
        match &self.custom {
            Some(custom) => custom.convert(object, &custom.version, &self.resource.group),
            None => object.clone(),
        }
    }

    /// Which schema in force objects of this kind are read by; 0 for built-in kinds.
    pub(crate) fn epoch(&self) -> u64 {
        self.custom.as_ref().map_or(0, |custom| custom.family.epoch)
    }

    /// Whether this is the kind of that group and plural.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.resource.group == group && self.resource.plural == plural
    }
}
