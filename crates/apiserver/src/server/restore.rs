//! Restores the content of a storage when a server starts, and reverts writes that the storage rejects.

use windtunnel_core::clock::Time;

use crate::server::ApiServer;
use crate::storage::Saved;

/// Number by which the revision jumps at a restart. Revisions that clients may have seen without being stored
/// are not used again.
const GAP: u64 = 10_000;

impl ApiServer {
    /// Restores the content of a storage, before anything else is written.
    pub(crate) fn restore(&mut self, saved: Saved, now: Time) {
        for (key, object) in saved.objects {
            let table = match self.catalog.versions(&key.group, &key.plural).first() {
                Some(kind) => kind.table,
                None => self.custom_table(&key.group, &key.plural),
            };
            self.store.restore(table, &key, &object);
        }
        if saved.revision > 0 {
            self.store.advance_to(saved.revision.saturating_add(GAP));
        }
        self.follow_load(now);
        // No client has seen these changes.
        self.store.compact();
    }

    /// Reverts the writes that are not durable, and everything that the server derived from them, because the storage rejects
    /// writes.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) {
        let reverted = self.store.rewind(why);
        self.follow_undo(&reverted, now);
    }
}
