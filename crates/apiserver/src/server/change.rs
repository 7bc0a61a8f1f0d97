//! Changes of stored objects, and what state that is derived from them does after one. [`derived`](super::derived) lists such
//! state.

use serde_json::Value;
use windtunnel_core::Key;
use windtunnel_core::clock::Time;

use crate::kinds::Kind;
use crate::server::ApiServer;
use crate::store::Store;

/// A write or a removal of a stored object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) key: &'a Key,
    /// The object before; `None` if it is new.
    pub(crate) old: Option<&'a Value>,
    pub(crate) now: Time,
}

impl Change<'_> {
    /// Whether the object still exists.
    pub(crate) fn is_stored(&self, store: &Store) -> bool {
        store.get(self.kind.table, &self.key.namespace, &self.key.name).is_some()
    }
}

/// Objects of a kind that changed in another way than by a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reload<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) keys: &'a [Key],
    /// Whether writes were undone, because the storage rejects writes. Otherwise the objects were restored or imported.
    pub(crate) is_undo: bool,
    pub(crate) now: Time,
}

/// State that is derived from stored objects.
pub(crate) trait Derived: Sync {
    /// Follows a write or a removal.
    fn follow(&self, _server: &mut ApiServer, _change: &Change<'_>) {}

    /// Follows objects that changed in another way.
    fn follow_reload(&self, _server: &mut ApiServer, _reload: &Reload<'_>) {}
}
