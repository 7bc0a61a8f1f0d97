//! What a watcher sees happen to an object.

use crate::{Key, Object};

const OWNERS: &str = "/metadata/ownerReferences";

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

impl Change {
    /// Whether it moves who owns whom: the object is gone, is on its way out, or names owners that it did not name before.
    pub fn moves_ownership(&self) -> bool {
        self.kind == ChangeKind::Deleted
            || self.object.is_terminating()
            || match &self.old {
                None => !self.object.list(OWNERS).is_empty(),
                Some(old) => self.object.list(OWNERS) != old.list(OWNERS),
            }
    }
}
