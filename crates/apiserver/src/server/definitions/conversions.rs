//! Calls of conversion webhooks that a request needs.

use windtunnel_core::Resource;

use crate::call::{Call, RequestInfo};
use crate::kinds::objects::Objects;
use crate::outbound::endpoint::with_service_endpoint;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

/// Requests the conversions that the request needs so far, and reruns the request.
///
/// # Errors
/// The request stops here: it waits for the webhook, is rerun, or the webhook failed.
pub(crate) fn run_wanted(call: &mut Call<'_>, objects: Objects<'_>) -> Outcome<()> {
    let Some(conversion) = call.info.kind.conversion().cloned() else { return Ok(()) };
    let Some(wanted) = conversion.next_call(call.info.now) else { return Ok(()) };
    conversion.clear_wanted();
    let find = |resource: &Resource, namespace: &str, name: &str| objects.get(resource, namespace, name);
    let answer = call.attempt.ask(with_service_endpoint(wanted.call.clone(), find))?;
    conversion.cache_answer(&wanted, &answer).map_err(Refused::internal)?;
    call.attempt.request_restart();
    Err(Refused::internal("converted"))
}

impl ApiServer {
    /// The error for a client whose request failed in a conversion webhook. Lists of a version that needs
    /// conversion come from a cache, which is not initialized until all its objects are converted.
    pub(crate) fn conversion_error(&self, info: &RequestInfo<'_>, refused: Refused) -> Refused {
        if info.kind.conversion().is_none() || refused.code != 500 || !self.needs_cache(info) {
            return refused;
        }
        let Resource { group, version, kind, .. } = &info.kind.resource;
        Refused::initialising(&format!(
            ": failed to list {group}/{version}, Kind={kind}: {}",
            refused.message
        ))
    }
}
