//! Objects of a write in the version of the kind that a webhook or a policy asks for (`matchPolicy: Equivalent`).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;

use super::{Admitter, Attributes};
use crate::call::{Call, decode};
use crate::gotext::quote;
use crate::kinds::typed::with_empties;
use crate::kinds::{Kind, strategy, typed};
use crate::rejection::Outcome;
use crate::server::definitions::conversions;
use crate::store::Stored;

/// The objects of a write in one version.
#[derive(Debug)]
pub(super) struct Versioned<'a> {
    pub(super) object: Option<Cow<'a, Value>>,
    pub(super) old: Option<Cow<'a, Value>>,
}

/// A write in the version of the kind that a webhook or a policy asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) kind: &'a Kind,
    pub(super) attributes: Attributes<'a>,
}

impl Versioned<'_> {
    /// The attributes of the write, with the old object in this version.
    pub(super) fn attributes<'a>(&'a self, attributes: Attributes<'a>) -> Attributes<'a> {
        Attributes { old: self.old.as_deref(), ..attributes }
    }
}

impl Admitter<'_> {
    /// The objects of a write in the version of `kind`.
    ///
    /// # Errors
    /// The request waits for a conversion webhook, or the webhook failed.
    pub(super) fn versioned<'a>(
        &self,
        call: &mut Call<'_>,
        kind: &Kind,
        attributes: Attributes<'a>,
        object: Option<&'a Value>,
    ) -> Outcome<Versioned<'a>> {
        let versioned = Versioned {
            object: object
                .map(|object| in_version(call, kind, attributes, object))
                .map(|object| given(call, object)),
            old: attributes.old.map(|old| in_version(call, kind, attributes, old)),
        };
        conversions::run_wanted(call, self.objects())?;
        Ok(versioned)
    }

    /// The object that a mutation made of one in the version of `kind`, in the form in which the request is written.
    ///
    /// # Errors
    /// The object does not have the type of its kind, the request waits for a conversion webhook, or the webhook failed.
    pub(super) fn written(
        &self,
        call: &mut Call<'_>,
        kind: &Kind,
        attributes: Attributes<'_>,
        mut changed: Value,
    ) -> Outcome<Result<Value, String>> {
        if let Some(own) = attributes.object_type {
            let decoded = typed::decode_as(&own.group, &own.version, &own.kind, &mut changed);
            return Ok(decoded.map(|_| changed));
        }
        if kind.custom.is_none()
            && let Err(why) = self.check_kind(kind, &mut changed)
        {
            return Ok(Err(why));
        }
        if let Err(why) = decode::normalise(kind, &mut changed, self.profile.minor) {
            return Ok(Err(why));
        }
        if kind.custom.is_some() && kind.resource.version != call.kind.resource.version {
            changed = Arc::clone(&call.kind).convert(&changed);
            conversions::run_wanted(call, self.objects())?;
        }
        Ok(Ok(changed))
    }

    /// Rejects an object whose kind a mutation changed to another built-in one. The server decodes it first, which may fail
    /// as well.
    fn check_kind(&self, kind: &Kind, changed: &mut Value) -> Result<(), String> {
        let expected = (kind.resource.api_version(), &*kind.resource.kind);
        let (version, name) = (text(changed, "apiVersion", &expected.0), text(changed, "kind", expected.1));
        if (&*version, &*name) == (&*expected.0, expected.1) {
            return Ok(());
        }
        let (group, plain_version) = version.split_once('/').unwrap_or(("", &version));
        let is_it = |known: &Resource| {
            (&*known.group, &*known.version, &*known.kind) == (group, plain_version, &*name)
        };
        let Some(found) = self.catalog.served().find(|known| is_it(&known.resource)) else {
            return Err(format!(
                "no kind {} is registered for version {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                quote(&name),
                quote(&version)
            ));
        };
        decode::normalise(found, changed, self.profile.minor)?;
        let package =
            kind.resource.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
        Err(format!(
            "converting ({plain_version}.{name}) to ({package}.{}): unknown conversion",
            kind.resource.kind
        ))
    }
}

/// A field of text, or its default if it is empty.
fn text(object: &Value, field: &str, default: &str) -> String {
    let given = object[field].as_str().filter(|text| !text.is_empty());
    given.unwrap_or(default).to_owned()
}

/// An object of a write in the version of `kind`; a conversion that needs a webhook is noted as wanted.
fn in_version<'a>(
    call: &Call<'_>,
    kind: &Kind,
    attributes: Attributes<'_>,
    object: &'a Value,
) -> Cow<'a, Value> {
    if attributes.object_type.is_some() {
        return Cow::Borrowed(object);
    }
    match &kind.custom {
        Some(_) if kind.resource.version != call.kind.resource.version => Cow::Owned(kind.convert(object)),
        Some(_) => Cow::Borrowed(object),
        // Built-in kinds are written in their stored form.
        None if !kind.is_storage() => Cow::Owned(kind.as_served(&Stored::split(object.clone())).to_value()),
        None => strategy::with_template_count(kind, object),
    }
}

/// The object with the lists and maps that the client gave without elements, where Go always writes them.
fn given<'a>(call: &Call<'_>, object: Cow<'a, Value>) -> Cow<'a, Value> {
    let shown = with_empties(&object, &call.empties, |empty| object.pointer(&empty.pointer).is_some());
    match shown {
        Cow::Borrowed(_) => object,
        Cow::Owned(shown) => Cow::Owned(shown),
    }
}
