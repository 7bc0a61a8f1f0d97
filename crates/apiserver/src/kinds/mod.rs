//! Built-in and custom kinds: their versions, fields, defaults, validation, and what a write may change.
//!
//! * `builtin/`: the kinds and versions of a minor; their fields come from `facts/`
//! * `defaults/`, `strategy/`, `validation/`: what a write of a kind fills in, keeps and checks
//! * `typed/`: Go's types: unknown fields, zero values, the order of fields (`typed/go_order.rs`)
//! * `custom/`: kinds of CustomResourceDefinitions

mod autoscaler;
pub(crate) mod builtin;
pub(crate) mod catalog;
pub(crate) mod custom;
pub(crate) mod defaults;
mod forms;
#[cfg(test)]
mod growth;
pub(crate) mod objects;
pub(crate) mod quality;
pub(crate) mod strategy;
pub(crate) mod templates;
pub(crate) mod typed;
pub(crate) mod validation;
pub(crate) mod view;

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;
pub(crate) use windtunnel_core::quantity;

use super::metadata::Checks;
use super::names::NameRule;
use super::store::TableId;
pub(crate) use builtin::Subresource;
pub(crate) use custom::Custom;
use custom::conversion::Conversion;
use view::View;

/// A kind in one of its versions.
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
    /// Converts the stored form to this version; custom resources have their own conversions.
    pub(crate) view: View,
    /// The first minor that warns about its use, and the warning; custom resources have their own.
    pub(crate) deprecation: Option<(u32, String)>,
    /// How often its metadata is validated.
    pub(crate) metadata: Checks,
    /// Fills its defaults.
    pub(crate) defaults: Option<defaults::Filler>,
    /// Validates its objects.
    pub(crate) validators: Option<validation::Validators>,
    /// Its subresources, except `status`.
    pub(crate) subresources: &'static [Subresource],
    /// Set if a CustomResourceDefinition defines the kind.
    pub(crate) custom: Option<Custom>,
}

/// How the server treats a kind.
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) names: NameRule,
    /// Whether there is a status subresource.
    pub(crate) status: bool,
    /// The metadata that a status write may change.
    pub(crate) status_metadata: StatusMetadata,
    /// The changes that increment `metadata.generation`.
    pub(crate) generation: Generation,
    /// Whether an update may omit the resource version, and overwrite.
    pub(crate) unconditional_update: bool,
    /// Whether an update of an absent object creates it.
    pub(crate) create_on_update: bool,
    /// Whether objects are stored. Reviews are not: the server answers them on creation.
    pub(crate) stored: bool,
    /// The verbs of the resource itself, in the order in which discovery lists them.
    pub(crate) verbs: &'static [&'static str],
    /// The garbage collection policy of deletions that name none.
    pub(crate) dependents: Dependents,
}

/// The garbage collection policy for the dependents of an object, if the deletion names none
/// (`rest.GarbageCollectionPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// The garbage collector deletes them.
    Deleted,
    /// They stay, without an owner.
    Orphaned,
    /// The kind never has dependents, so policies have no effect.
    Unsupported,
}

/// The metadata that a status write may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusMetadata {
    /// Everything that an update may change.
    Taken,
    /// Everything but labels.
    TakenButLabels,
    /// Nothing.
    Ignored,
}

/// The changes that increment `metadata.generation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// None: the kind has no generation.
    None,
    /// None: a new object has the generation 1, which stays.
    Constant,
    /// Everything but metadata. A new object has no generation, and the first change sets it to 1.
    SpecificationFromZero,
    /// Everything but metadata and status.
    Specification,
    /// Like `Specification`, but a list or map without elements is a change (`reflect.DeepEqual`).
    ExactSpecification,
    /// Also changes of annotations.
    SpecificationAndAnnotations,
    /// Also changes of labels.
    SpecificationAndLabels,
}

impl Kind {
    /// The webhook that converts between the versions of this kind, if there is one.
    pub(crate) fn conversion(&self) -> Option<&Arc<Conversion>> {
        self.custom.as_ref()?.family.conversion.as_ref()
    }

    /// Converts an object of any version to this version.
    pub(crate) fn convert(&self, object: &Value) -> Value {
        match &self.custom {
            Some(custom) => custom.convert(object, &custom.version, &self.resource.group),
            None => object.clone(),
        }
    }

    /// The epoch of the schema that applies to objects of this kind; 0 for built-in kinds.
    pub(crate) fn epoch(&self) -> u64 {
        self.custom.as_ref().map_or(0, |custom| custom.family.epoch)
    }

    /// The resource as the error about a missing object names it: that of component statuses has another name.
    pub(crate) fn named_in_errors(&self) -> Cow<'_, Resource> {
        if self.is_resource("", "componentstatuses") {
            return Cow::Owned(Resource { plural: "componentstatus".into(), ..self.resource.clone() });
        }
        Cow::Borrowed(&self.resource)
    }

    /// Whether the kind has that group and plural.
    pub(crate) fn is_resource(&self, group: &str, plural: &str) -> bool {
        self.resource.group == group && self.resource.plural == plural
    }
}
