//! The watches that ended with 410: their clients cannot continue them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Client;
use crate::store::TableId;

/// The most clients that are kept.
const LIMIT: usize = 10_000;

/// The revisions up to which a client can no longer watch a kind.
#[derive(Debug, Clone, Default)]
pub(super) struct ExpiredWatches(BTreeMap<(Arc<Client>, TableId), u64>);

impl ExpiredWatches {
    pub(super) fn add(&mut self, client: &Arc<Client>, table: TableId, revision: u64) {
        if self.0.len() < LIMIT {
            self.0.insert((Arc::clone(client), table), revision);
        }
    }

    /// Whether a client has to list again instead of a watch from this revision.
    pub(super) fn has(&self, client: &Arc<Client>, table: TableId, revision: u64) -> bool {
        !self.0.is_empty()
            && self.0.get(&(Arc::clone(client), table)).is_some_and(|expired| revision < *expired)
    }
}
