//! Reverts writes that are not durable, and everything that the server derived from them.

use std::collections::BTreeSet;

use windtunnel_core::clock::Time;

use super::Change;
use crate::server::ApiServer;
use crate::store::TableId;

impl ApiServer {
    /// Reverts the writes that are not durable, because the storage rejects writes. Returns the restored
    /// state of the objects concerned.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) -> Vec<Change> {
        let again = self.store.rewind(why);
        // These depend on revisions, which are used a second time now.
        self.access.policy.forget();
        self.allocations.forget_services();
        for (table, change) in &again {
            if *table == self.tables.definitions {
                self.revert_definition(&change.key.name);
            } else if *table == self.tables.events {
                self.event_written(&change.key, now);
            }
        }
        let tables: BTreeSet<TableId> = again.iter().map(|(table, _)| *table).collect();
        let concerned = self.catalog.served().filter(|kind| tables.contains(&kind.table)).cloned();
        for kind in concerned.collect::<Vec<_>>() {
            self.derive(&kind);
        }
        again.into_iter().map(|(_, change)| change).collect()
    }
}
