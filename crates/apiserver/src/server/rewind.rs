//! Reverts writes that are not durable, and everything that the server derived from them.

use std::collections::BTreeSet;

use windtunnel_core::clock::Time;

use crate::server::ApiServer;
use crate::storage::Change;
use crate::store::TableId;

impl ApiServer {
    /// Reverts the writes that are not durable, because the storage rejects writes. Returns the restored
    /// state of the affected objects.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) -> Vec<Change> {
        let restored = self.store.rewind(why);
        // These depend on revisions, which are used a second time now.
        self.access.policy.reset();
        self.allocations.forget_services();
        for (table, change) in &restored {
            if *table == self.tables.definitions {
                self.revert_definition(&change.key.name);
            } else if *table == self.tables.events {
                self.event_written(&change.key, now);
            }
        }
        let tables: BTreeSet<TableId> = restored.iter().map(|(table, _)| *table).collect();
        let affected = self.catalog.served().filter(|kind| tables.contains(&kind.table)).cloned();
        for kind in affected.collect::<Vec<_>>() {
            self.derive(&kind);
        }
        restored.into_iter().map(|(_, change)| change).collect()
    }
}
