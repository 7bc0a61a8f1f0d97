//! The versions of a kind. Fields are owned in the version in which they were written.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::shape::Shape;
use crate::kinds::{Kind, typed};

/// The served versions of a kind, and the version of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions<'a> {
    served: &'a [Arc<Kind>],
    own: &'a Kind,
}

impl<'a> Versions<'a> {
    pub(crate) fn new(served: &'a [Arc<Kind>], own: &'a Kind) -> Self {
        Self { served, own }
    }

    /// The shape of objects in the version of the request.
    pub(crate) fn shape(&self) -> Shape<'a> {
        Shape::for_kind(self.own)
    }

    /// The object that a new object is compared with: the zero value of the kind in Go, in which nothing has an owner.
    pub(crate) fn zero(&self) -> Value {
        typed::zero_object(self.own).unwrap_or_else(|| json!({}))
    }

    /// The version of the request.
    pub(crate) fn own(&self) -> String {
        self.own.resource.api_version()
    }

    /// Whether an API version is that of the request.
    pub(crate) fn is_own(&self, api_version: &str) -> bool {
        self.own.resource.has_api_version(api_version)
    }

    /// Converts an object to another version, and returns it with its shape; `None` if the version is not
    /// served. Until a conversion webhook has answered and the request is rerun, the object stays unchanged.
    pub(crate) fn convert<'v>(
        &self,
        object: &'v Value,
        version: &str,
    ) -> Option<(Cow<'v, Value>, Shape<'a>)> {
        let kind = self.find(version)?;
        if object["apiVersion"] == *version {
            return Some((Cow::Borrowed(object), Shape::for_kind(kind)));
        }
        let Some(custom) = &kind.custom else {
            return Some((self.convert_builtin(object, kind), Shape::for_kind(kind)));
        };
        let converted = custom.convert(object, &custom.version, &kind.resource.group);
        Some((Cow::Owned(converted), Shape::for_kind(kind)))
    }

    /// Converts an object of a built-in kind from the version of the request. Most versions have the same fields.
    fn convert_builtin<'v>(&self, object: &'v Value, kind: &Kind) -> Cow<'v, Value> {
        if self.own.has_storage_fields() && kind.has_storage_fields() {
            return Cow::Borrowed(object);
        }
        let mut stored = object.clone();
        self.own.convert_to_stored(&mut stored);
        Cow::Owned(kind.tracked_form(&stored).into_owned())
    }

    /// The shape of objects in a served version.
    pub(crate) fn shape_in(&self, version: &str) -> Option<Shape<'a>> {
        self.find(version).map(|kind| Shape::for_kind(kind))
    }

    fn find(&self, api_version: &str) -> Option<&'a Arc<Kind>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.served.iter().find(|kind| kind.resource.version == version && kind.resource.group == group)
    }
}
