//! Objects of a write in the version of the kind that a webhook or a policy asks for (`matchPolicy: Equivalent`).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::{Admitter, Attributes};
use crate::call::{Call, decode};
use crate::kinds::typed::with_empties;
use crate::kinds::{Kind, strategy, typed};
use crate::server::definitions::conversions;
use crate::status::Outcome;
use crate::store::Stored;

/// The objects of a write in one version.
pub(super) struct Versioned<'a> {
    pub(super) object: Option<Cow<'a, Value>>,
    pub(super) old: Option<Cow<'a, Value>>,
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
        if let Err(why) = decode::normalise(kind, &mut changed, self.profile.minor) {
            return Ok(Err(why));
        }
        if kind.custom.is_some() && kind.resource.version != call.kind.resource.version {
            changed = Arc::clone(&call.kind).convert(&changed);
            conversions::run_wanted(call, self.objects())?;
        }
        Ok(Ok(changed))
    }
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
