//! Reverts writes that are not durable, and everything that the server derived from them.

use windtunnel_core::clock::Time;

use crate::server::ApiServer;
use crate::storage::Change;

impl ApiServer {
    /// Reverts the writes that are not durable, because the storage rejects writes. Returns the restored
    /// state of the affected objects.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) -> Vec<Change> {
        let restored = self.store.rewind(why);
        let keys: Vec<_> = restored.iter().map(|(table, change)| (*table, change.key.clone())).collect();
        self.follow_undo(&keys, now);
        restored.into_iter().map(|(_, change)| change).collect()
    }
}
