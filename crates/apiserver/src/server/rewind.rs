//! Reverts writes that are not durable, and everything that the server derived from them.

use windtunnel_core::clock::Time;

use crate::server::ApiServer;

impl ApiServer {
    /// Reverts the writes that are not durable, because the storage rejects writes.
    pub(crate) fn rewind(&mut self, why: &str, now: Time) {
        let reverted = self.store.rewind(why);
        self.follow_undo(&reverted, now);
    }
}
