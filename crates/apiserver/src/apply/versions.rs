//! The versions of a kind. Fields are owned in the version in which they were written.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::shape::Shape;
use super::typed::{self, ValidationError};
use crate::field_set::FieldSet;
use crate::kinds::custom::Version;
use crate::kinds::{Custom, Kind, typed as go_types};

/// The versions of a kind, and the version of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions<'a> {
    /// The versions of a built-in kind.
    builtin: &'a [Arc<Kind>],
    own: &'a Kind,
    minor: u32,
}

/// A version in which fields may be owned.
#[derive(Debug, Clone, Copy)]
enum Found<'a> {
    Builtin(&'a Kind),
    /// A version of a custom resource, served or not.
    Custom(&'a Custom, &'a Version),
}

/// An object in a version, with its shape.
type Converted<'v, 'a> = (Cow<'v, Value>, Shape<'a>);

impl<'a> Versions<'a> {
    /// The versions of a kind in Kubernetes 1.`minor`.
    pub(crate) fn new(versions: &'a [Arc<Kind>], own: &'a Kind, minor: u32) -> Self {
        Self { builtin: versions, own, minor }
    }

    /// The shape of objects in the version of the request.
    pub(crate) fn shape(&self) -> Shape<'a> {
        Shape::for_kind(self.own)
    }

    /// The object that a new object is compared with: the zero value of the kind in Go, in which nothing has an owner.
    pub(crate) fn zero(&self) -> Value {
        go_types::zero_object(self.own).unwrap_or_else(|| json!({}))
    }

    /// The version of the request.
    pub(crate) fn own(&self) -> String {
        self.own.resource.api_version()
    }

    /// Whether an API version is that of the request.
    pub(crate) fn is_own(&self, api_version: &str) -> bool {
        self.own.resource.has_api_version(api_version)
    }

    /// Whether the kind is a custom resource, whose objects may contradict their schema.
    pub(crate) fn is_custom(&self) -> bool {
        self.own.custom.is_some()
    }

    /// Converts an object to another version, and returns it with its shape; `None` if a built-in kind lacks the version.
    /// Until a conversion webhook has answered and the request is rerun, the object stays unchanged.
    ///
    /// # Errors
    /// The definition lacks the version, or the converted object contradicts its schema.
    pub(crate) fn convert<'v>(
        &self,
        object: &'v Value,
        api_version: &str,
    ) -> Result<Option<Converted<'v, 'a>>, String> {
        let found = self.find(api_version);
        if object["apiVersion"] == *api_version {
            return Ok(found.ok().flatten().map(|found| (Cow::Borrowed(object), found.shape())));
        }
        let Some(found) = found? else { return Ok(None) };
        let converted = match found {
            Found::Custom(custom, version) => {
                Cow::Owned(custom.convert_unpruned(object, version, &self.own.resource.group))
            }
            Found::Builtin(kind) => self.convert_builtin(object, kind),
        };
        // An object in the version of the request is not converted, even if it was stored with the name of another one.
        let is_renamed = matches!(converted, Cow::Borrowed(_)) && self.is_own(api_version);
        if !is_renamed {
            typed::validate(&converted, found.shape(), false)
                .map_err(|errors| ValidationError::text(&errors))?;
        }
        Ok(Some((converted, found.shape())))
    }

    /// Converts an object of a built-in kind from the version that it has. Most versions have the same fields.
    fn convert_builtin<'v>(&self, object: &'v Value, kind: &Kind) -> Cow<'v, Value> {
        let given = object["apiVersion"].as_str().unwrap_or_default();
        let from = match self.find(given) {
            Ok(Some(Found::Builtin(from))) => from,
            _ => self.own,
        };
        if from.has_storage_fields() && kind.has_storage_fields() {
            return Cow::Borrowed(object);
        }
        let mut stored = object.clone();
        from.convert_to_stored(&mut stored);
        Cow::Owned(kind.tracked_form(&stored).into_owned())
    }

    /// The fields that writes of a subresource reset in another version than that of the request. `own` are those in the
    /// version of the request.
    pub(crate) fn reset_in(&self, api_version: &str, subresource: &str, own: &FieldSet) -> FieldSet {
        match self.find(api_version) {
            Ok(Some(Found::Custom(_, version))) if subresource == "status" && version.status => {
                version.status_reset.clone()
            }
            Ok(Some(Found::Custom(..))) => FieldSet::default(),
            _ => own.clone(),
        }
    }

    fn find(&self, api_version: &str) -> Result<Option<Found<'a>>, String> {
        if api_version.matches('/').count() > 1 {
            return Err(format!("unexpected GroupVersion string: {api_version}"));
        }
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let Some(custom) = &self.own.custom else {
            let mut served = self.builtin.iter().filter(|kind| kind.is_served(self.minor));
            let kind = served.find(|kind| kind.resource.version == version && kind.resource.group == group);
            return Ok(kind.map(|kind| Found::Builtin(kind)));
        };
        let found = custom.family.version(version).filter(|_| self.own.resource.group == group);
        found.map(|version| Some(Found::Custom(custom, version))).ok_or_else(|| {
            let api_version = api_version.trim_start_matches('/');
            format!("request to convert CR to an invalid group/version: {api_version}")
        })
    }
}

impl<'a> Found<'a> {
    /// The shape of objects in this version.
    fn shape(self) -> Shape<'a> {
        match self {
            Self::Builtin(kind) => Shape::for_kind(kind),
            Self::Custom(_, version) => Shape::for_version(version),
        }
    }
}
