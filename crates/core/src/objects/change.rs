//! Changes of objects, as a watch reports them.

use crate::{Key, Object};

const OWNERS: &str = "/metadata/ownerReferences";

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object was created.
    Added,
    /// The object was modified.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// The object's key.
    pub key: Key,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The object after the change; for a deletion, its last state.
    pub object: Object,
    /// The object before the change, if it was known.
    pub old: Option<Object>,
}

impl Change {
    /// Whether the change affects ownership: the object is deleted or terminating, or its owner references
    /// changed.
    pub fn affects_ownership(&self) -> bool {
        self.kind == ChangeKind::Deleted
            || self.object.is_terminating()
            || match &self.old {
                None => !self.object.list(OWNERS).is_empty(),
                Some(old) => self.object.list(OWNERS) != old.list(OWNERS),
            }
    }
}
