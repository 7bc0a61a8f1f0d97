//! Delays of a real server when definitions change. Simulations have none by default: a controller that
//! retries reaches the same end with more requests in the log, which say nothing about an update. Tests of
//! clients can switch the delays on.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::{condition, resources};

use crate::call::Call;
use crate::kinds::Kind;
use crate::rejection::{BoxedRejection, Outcome};
use crate::request::{Method, Request, ResourcePath, Target};
use crate::server::ApiServer;
use crate::store::{Store, TableId};

/// How long the creation of objects is delayed after the kind was established, and the length of the delay
/// (`justCreated` in the handler of custom resources): other servers may not know the kind yet.
const FIRST_CREATE_DELAY: Duration = Duration::from_secs(2);

/// How long a changed definition takes to take effect everywhere; by default it takes effect at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DefinitionPace {
    /// How long the storage of a kind is unavailable after its definition changes. Meanwhile lists and
    /// watches wait; from 1.31 on, the server rejects them and asks the client to retry.
    pub storage: Duration,
    /// Whether creating an object takes two seconds if the kind was established less than two seconds ago.
    pub first_creates_wait: bool,
}

impl DefinitionPace {
    /// Whether requests may be delayed.
    pub(crate) fn has_delays(self) -> bool {
        self != Self::default()
    }
}

/// State that all CustomResourceDefinitions share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Definitions {
    /// Counts replacements of definitions.
    epoch: u64,
    pace: DefinitionPace,
    /// The times of storage changes, for kinds whose changes are delayed.
    storage_changed: BTreeMap<TableId, Time>,
    /// Tables of custom resources by group and plural. They outlive their definitions.
    tables: BTreeMap<(String, String), TableId>,
}

impl Definitions {
    pub(crate) fn new(pace: DefinitionPace) -> Self {
        Self { pace, ..Self::default() }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn pace(&self) -> DefinitionPace {
        self.pace
    }

    /// Starts the next epoch.
    pub(crate) fn next_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    pub(crate) fn record_storage_change(&mut self, table: TableId, now: Time) {
        if !self.pace.storage.is_zero() {
            self.storage_changed.insert(table, now);
        }
    }

    /// The table of custom resources of a kind.
    pub(crate) fn table(&mut self, group: &str, plural: &str, store: &mut Store) -> TableId {
        *self.tables.entry((group.to_owned(), plural.to_owned())).or_insert_with(|| store.add_table())
    }
}

impl ApiServer {
    /// Rejects lists and watches while the storage of a kind is initialized again
    /// (`ResilientWatchCacheInitialization`). Pages of unselective lists are read from etcd instead.
    pub(crate) fn check_storage(&self, call: &Call<'_>) -> Outcome<()> {
        if self.until_ready(&call.kind, call.now).is_zero() || !self.needs_cache(call) {
            return Ok(());
        }
        Err(BoxedRejection::initialising(""))
    }

    /// Whether a request is served from a cache that may be uninitialized.
    pub(super) fn needs_cache(&self, call: &Call<'_>) -> bool {
        let lists = call.request.method == Method::Get && (call.is_watch() || call.path.name.is_empty());
        let query = &call.request.query;
        let given = |name: &str| !query.get(name).is_empty();
        let selects = given("labelSelector") || given("fieldSelector");
        let pages = given("continue") || given("limit") && query.get("limit") != "0" && !selects;
        self.profile.refuses_while_initialising && lists && (call.is_watch() || !pages)
    }

    /// How long a request is delayed before it is processed.
    pub(crate) fn pause_before(&self, request: &Request<'_>, now: Time) -> Duration {
        let Target::Resource(path) = &request.target else { return Duration::ZERO };
        let Ok(kind) = self.catalog.resolve(path) else { return Duration::ZERO };
        match request.method {
            Method::Get if path.name.is_empty() && !self.profile.refuses_while_initialising => {
                self.until_ready(&kind, now)
            }
            Method::Post
                if self.definitions.pace.first_creates_wait && self.is_just_established(&kind, path, now) =>
            {
                FIRST_CREATE_DELAY
            }
            _ => Duration::ZERO,
        }
    }

    fn until_ready(&self, kind: &Kind, now: Time) -> Duration {
        let Some(changed) = self.definitions.storage_changed.get(&kind.table) else { return Duration::ZERO };
        let passed = Duration::try_from(now.duration_since(*changed)).unwrap_or_default();
        self.definitions.pace.storage.saturating_sub(passed)
    }

    fn is_just_established(&self, kind: &Kind, path: &ResourcePath<'_>, now: Time) -> bool {
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
            now.duration_since(since) < SignedDuration::try_from(FIRST_CREATE_DELAY).unwrap_or_default()
        })
    }
}
