//! Persistence: a database on disk with the stored objects of a server.
//!
//! The server itself works in memory. Each write goes to a [`Storage`] as a [`Change`], and becomes durable
//! before the server responds and before any client sees it. Writes that wait at the same time are committed
//! together. After a restart, objects have the same uids, resource versions and storage version. History is
//! lost: watches start again, because the revision jumps well beyond the last one that a client saw.
//!
//! If the storage rejects a write, for instance because the disk is full, the server reverts everything in
//! memory that is not durable, and responds to these writes with an error. From then on it is read-only: it
//! never calls the storage again, rejects all writes with the reason, and fails its health checks. Readers get
//! the durable state. A restart ends this. The storage may then contain some of the rejected writes.

#[cfg(feature = "storage")]
mod data_dir;
#[cfg(feature = "storage")]
mod data_file;
#[cfg(feature = "storage")]
mod disk;
#[cfg(feature = "storage")]
mod opening;
#[cfg(feature = "storage")]
mod overlay;
#[cfg(all(test, feature = "storage"))]
mod tests;
pub(crate) mod writer;

use serde_json::Value;

#[cfg(feature = "storage")]
pub use data_dir::DataDir;
#[cfg(feature = "storage")]
pub use disk::{Disk, DiskFault, Operations};
use windtunnel_core::Key;

pub use super::store::Change;

/// An error of a storage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageError(pub String);

/// Makes changes durable.
pub trait Storage: Send {
    /// Makes all of the changes durable, or none. Of several changes of one object the last counts. There is no
    /// further call after an error.
    ///
    /// # Errors
    /// The changes are not durable, or may not be.
    fn commit(&mut self, changes: &[Change]) -> Result<(), StorageError>;
}

/// Called once, when a storage rejects a write.
pub type Report = Box<dyn Fn(&StorageError) + Send>;

/// The content of a storage.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// The revision of the last change.
    pub revision: u64,
    /// The number of earlier starts of a server with it. Each start draws other uids.
    pub starts: u64,
    /// All objects.
    pub objects: Vec<(Key, Value)>,
}
