//! What takes a real server time when definitions change. Simulations leave it out: a controller that is refused now and
//! asks again in a moment comes to the same end, only with more requests in the record, and none of them tells anything
//! of an update. Tests of clients that are to bear it switch it on.

use std::time::Duration;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::{Resource, condition, resources};

use crate::call::Call;
use crate::kinds::Kind;
use crate::request::{Method, Request, ResourcePath, Target};
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};

/// How long objects of a kind are created with a pause after it was established, and how long that pause is
/// (`justCreated` in the handler of custom resources): other servers may not have heard of it yet.
const YOUNG: Duration = Duration::from_secs(2);

/// How long it takes what a definition says to be in force everywhere; at once, unless told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DefinitionPace {
    /// How long the storage of a kind needs to be ready again once its definition changed. Meanwhile clients that list
    /// or watch wait, and from 1.31 on they are told to come back.
    pub storage: Duration,
    /// Whether clients that create objects wait for two seconds while their kind is that young.
    pub first_creates_wait: bool,
}

impl DefinitionPace {
    /// Whether requests may have to wait.
    pub(crate) fn is_felt(self) -> bool {
        self != Self::default()
    }
}

impl ApiServer {
    /// Refuses to list and to watch while the storage of a kind is being made anew
    /// (`ResilientWatchCacheInitialization`). Pages of everything come from the database itself.
    pub(crate) fn check_storage(&self, call: &Call<'_>) -> Outcome<()> {
        if self.until_ready(&call.kind, call.now).is_zero() || !self.needs_cache(call) {
            return Ok(());
        }
        Err(Refused::initialising(""))
    }

    /// What a client is told whose request a conversion webhook failed. A list of a version that has to be converted
    /// comes from a cache that is not there until all its objects were.
    pub(crate) fn unconverted(&self, call: &Call<'_>, refused: Refused) -> Refused {
        if call.kind.conversion().is_none() || refused.code != 500 || !self.needs_cache(call) {
            return refused;
        }
        let Resource { group, version, kind, .. } = &call.kind.resource;
        Refused::initialising(&format!(
            ": failed to list {group}/{version}, Kind={kind}: {}",
            refused.message
        ))
    }

    /// Whether a request is answered from a cache that may not be there.
    fn needs_cache(&self, call: &Call<'_>) -> bool {
        let lists = call.request.method == Method::Get && (call.is_watch() || call.path.name.is_empty());
        let query = &call.request.query;
        let given = |name: &str| !query.get(name).is_empty();
        let selects = given("labelSelector") || given("fieldSelector");
        let pages = given("continue") || given("limit") && query.get("limit") != "0" && !selects;
        self.profile.refuses_while_initialising && lists && (call.is_watch() || !pages)
    }

    /// How long a client's request has to wait before anything is done about it.
    pub(crate) fn pause_before(&self, request: &Request<'_>, now: Time) -> Duration {
        let Target::Resource(path) = &request.target else { return Duration::ZERO };
        let Ok(kind) = self.catalog.resolve(path) else { return Duration::ZERO };
        match request.method {
            Method::Get if path.name.is_empty() && !self.profile.refuses_while_initialising => {
                self.until_ready(&kind, now)
            }
            Method::Post if self.pace.first_creates_wait && self.is_young(&kind, path, now) => YOUNG,
            _ => Duration::ZERO,
        }
    }

    fn until_ready(&self, kind: &Kind, now: Time) -> Duration {
        let Some(changed) = self.storage_changed.get(&kind.table) else { return Duration::ZERO };
        let passed = Duration::try_from(now.duration_since(*changed)).unwrap_or_default();
        self.pace.storage.saturating_sub(passed)
    }

    fn is_young(&self, kind: &Kind, path: &ResourcePath<'_>, now: Time) -> bool {
        if kind.custom.is_none() || !path.subresource.is_empty() {
            return false;
        }
        let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
        let Some(crd) = self.object(&resources::CUSTOM_RESOURCE_DEFINITIONS, "", &name) else { return false };
        let conditions = crd.list("/status/conditions");
        let since = condition::find(conditions, "Established")
            .and_then(|found| found["lastTransitionTime"].as_str())
            .and_then(parse_rfc3339);
        since.is_some_and(|since| {
            now.duration_since(since) < SignedDuration::try_from(YOUNG).unwrap_or_default()
        })
    }
}
