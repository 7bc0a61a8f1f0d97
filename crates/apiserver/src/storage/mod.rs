//! What outlives the process: the objects of a server, as they are stored, in a database on disk.
//!
//! The server itself works in memory. Each of its writes goes to a [`Storage`] as a [`Change`], and is durable before its
//! answer is sent and before any client sees it; writes that wait at the same time become durable together. After a restart
//! the objects are back with their uids and resource versions, in the version that they were stored in. History is not:
//! watches begin anew, since the revision goes on a good way after the last one that anybody saw.
//!
//! If the storage takes no writes, for a full disk perhaps, the server takes back in memory all that is not durable, and
//! answers those who wrote it with an error. Readers get what is durable. Each further write tries the storage again, and
//! so does each health check: both work once there is room again. The storage may hold some of the writes that were taken
//! back, so the next commit contains the current state of the objects concerned.

#[cfg(all(test, feature = "storage"))]
mod damage;
#[cfg(feature = "storage")]
mod data_dir;
#[cfg(all(test, feature = "storage"))]
mod faults;
mod import;
#[cfg(feature = "storage")]
mod opening;
#[cfg(feature = "storage")]
mod overlay;
mod rewind;
pub(crate) mod writer;

use std::sync::Arc;

use serde_json::Value;

#[cfg(feature = "storage")]
pub use data_dir::DataDir;
use windtunnel_core::Key;

use super::server::ApiServer;
use super::store::Stored;
pub use import::{Imported, Verdict};

/// How far the revision jumps at a restart. What was answered before it, but not written by then, was seen by
/// nobody who may still be told that it changed.
const GAP: u64 = 10_000;

/// One write, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// To which object.
    pub key: Key,
    /// The server's revision after it.
    pub revision: u64,
    /// The object after it, in its storage version; `None` for a removal.
    pub object: Option<Stored>,
}

/// A storage that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageError(pub String);

/// Where changes become durable.
pub trait Storage: Send {
    /// Makes changes durable, all of them or none. Later ones of the same object count. After an error the next call
    /// tries again, with changes that make up for those of this one.
    ///
    /// # Errors
    /// They are not durable, or it is not certain that they are.
    fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError>;
}

/// Whether a storage takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It takes none since now; why.
    Stalled(StorageError),
    /// It takes writes again.
    Recovered,
}

/// Who hears when a storage stops to take writes, and when it takes them again.
pub type Report = Box<dyn Fn(&Health) + Send>;

/// What a storage holds.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// The revision of the last change.
    pub revision: u64,
    /// How often a server was started from it before. Uids of each start are drawn anew.
    pub starts: u64,
    /// All objects.
    pub objects: Vec<(Key, Value)>,
}

impl ApiServer {
    /// Puts back what a storage held, before anything else is written.
    pub(crate) fn restore(&mut self, saved: Saved) {
        let mut definitions = Vec::new();
        for (key, object) in saved.objects {
            let table = match self.catalog.versions(&key.group, &key.plural).first() {
                Some(kind) => kind.table,
                None => self.custom_table(&key.group, &key.plural),
            };
            if table == self.crd_table {
                definitions.push(key.name.clone());
            }
            self.store.restore(table, &key, &object);
        }
        if saved.revision > 0 {
            self.store.jump(saved.revision.saturating_add(GAP));
        }
        for name in definitions {
            self.definition_restored(&name);
        }
        let kinds: Vec<_> = self.catalog.all().map(Arc::clone).collect();
        for kind in &kinds {
            self.derive(kind);
        }
        // Nobody has seen any of this happen.
        self.store.compact();
    }
}
