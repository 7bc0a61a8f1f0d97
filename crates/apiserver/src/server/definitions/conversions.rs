//! Calls of conversion webhooks that a request needs.

use windtunnel_core::Resource;

use crate::call::Call;
use crate::kinds::objects::Objects;
use crate::outbound::endpoint::with_service_endpoint;
use crate::rejection::{BoxedRejection, Outcome};
use crate::server::ApiServer;

/// Requests the conversions that the request needs so far, and reruns the request.
///
/// # Errors
/// The request stops here: it waits for the webhook, is rerun, or the webhook failed.
pub(crate) fn run_wanted(call: &mut Call<'_>, objects: Objects<'_>) -> Outcome<()> {
    let Some(conversion) = call.kind.conversion().cloned() else { return Ok(()) };
    let Some(wanted) = conversion.next_call(call.now) else { return Ok(()) };
    conversion.clear_wanted();
    let find = |resource: &Resource, namespace: &str, name: &str| objects.get(resource, namespace, name);
    let answer = call.attempt.ask(with_service_endpoint(wanted.call.clone(), find))?;
    conversion.cache_answer(&wanted, &answer).map_err(BoxedRejection::internal)?;
    call.attempt.request_restart();
    Err(BoxedRejection::internal("converted"))
}

impl ApiServer {
    /// As [`run_wanted`].
    pub(crate) fn run_wanted_conversions(&self, call: &mut Call<'_>) -> Outcome<()> {
        run_wanted(call, self.stored_objects())
    }

    /// The error for a client whose request failed in a conversion webhook. Lists of a version that needs
    /// conversion come from a cache, which is not initialized until all its objects are converted.
    pub(crate) fn conversion_error(&self, call: &Call<'_>, rejection: BoxedRejection) -> BoxedRejection {
        if call.kind.conversion().is_none() || rejection.code != 500 || !self.needs_cache(call) {
            return rejection;
        }
        let Resource { group, version, kind, .. } = &call.kind.resource;
        BoxedRejection::initialising(&format!(
            ": failed to list {group}/{version}, Kind={kind}: {}",
            rejection.message
        ))
    }
}
