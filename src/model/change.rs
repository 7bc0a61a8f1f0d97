//! What a watcher sees happen to an object.

use super::{Key, Object};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one object, as a watch reports it.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which object.
    pub key: Key,
    /// What happened.
    pub kind: ChangeKind,
    /// The object after the change; for a deletion, its last state.
    pub object: Object,
    /// The object before the change, if it was known.
    pub old: Option<Object>,
}
