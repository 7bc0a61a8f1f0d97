//! Takes back what was written and is not durable, and all that the server derived from it.

use std::collections::BTreeSet;

use windtunnel_core::clock::Time;

use super::Change;
use crate::kinds::strategy::service;
use crate::server::ApiServer;
use crate::store::TableId;

impl ApiServer {
    /// Takes back what was written and is not durable, because the storage takes no writes. Returns the
    /// restored state of the objects concerned.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) -> Vec<Change> {
        let again = self.store.rewind(why);
        // These follow revisions, which come a second time now.
        self.access.policy.forget();
        self.taken_by_services = service::Taken::default();
        for (table, change) in &again {
            if *table == self.crd_table {
                self.definition_rewound(&change.key.name);
            } else if *table == self.event_table {
                self.event_written(&change.key, now);
            }
        }
        let tables: BTreeSet<TableId> = again.iter().map(|(table, _)| *table).collect();
        let concerned = self.catalog.all().filter(|kind| tables.contains(&kind.table)).cloned();
        for kind in concerned.collect::<Vec<_>>() {
            self.derive(&kind);
        }
        again.into_iter().map(|(_, change)| change).collect()
    }
}
