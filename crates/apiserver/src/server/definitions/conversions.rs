//! Calls of conversion webhooks that a request needs.

use std::sync::Arc;

use serde_json::Value;
use windtunnel_core::Resource;

use crate::call::{Call, RequestInfo};
use crate::kinds::objects::Objects;
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::server::definitions::delays::needs_cache;
use crate::store::{Stored, joined};

/// Requests the conversions that the request needs so far, and reruns the request.
///
/// # Errors
/// The request stops here: it waits for the webhook, is rerun, or the webhook failed.
pub(crate) fn run_wanted(call: &mut Call<'_>, objects: Objects<'_>) -> Outcome<()> {
    let Some(conversion) = call.info.kind.conversion().cloned() else { return Ok(()) };
    let Some(wanted) = conversion.next_call(call.info.now) else { return Ok(()) };
    conversion.clear_wanted();
    let answer = call.attempt.ask(objects.with_service_endpoint(wanted.call.clone()))?;
    conversion.cache_answer(&wanted, &answer).map_err(BoxedRejection::internal)?;
    call.attempt.request_restart();
    Err(BoxedRejection::internal("converted"))
}

/// Converts an object to the storage version, and runs all conversions that storing and returning it needs. Conversion
/// webhooks also see the owners of its fields.
pub(crate) fn convert_for_storage(
    call: &mut Call<'_>,
    objects: Objects<'_>,
    object: Value,
    owners: Option<&Value>,
) -> Outcome<Value> {
    let kind = Arc::clone(&call.info.kind);
    if kind.conversion().is_none() {
        return Ok(kind.to_storage(object));
    }
    let mut object = kind.to_storage(joined(&object, owners));
    let _ = kind.convert(&object);
    run_wanted(call, objects)?;
    Stored::take_owners(&mut object);
    Ok(object)
}

/// The error for a client whose request failed in a conversion webhook. Lists of a version that needs conversion come from a
/// cache, which is not initialized until all its objects are converted.
pub(crate) fn error(info: &RequestInfo<'_>, profile: &Profile, rejection: BoxedRejection) -> BoxedRejection {
    if info.kind.conversion().is_none() || rejection.code != 500 || !needs_cache(info, profile) {
        return rejection;
    }
    let Resource { group, version, kind, .. } = &info.kind.resource;
    BoxedRejection::initialising(&format!(
        ": failed to list {group}/{version}, Kind={kind}: {}",
        rejection.message
    ))
}
