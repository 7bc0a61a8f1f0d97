//! A stored object: a tree while its last write is remembered, text afterwards.
//!
//! A tree takes about ten times the memory of its text, and most objects of a large cluster are written once and read
//! seldom. So trees are for what was written lately, which is what the history of all kinds still knows.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize as _;
use serde_json::Value;

use super::Stored;

/// A stored object.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The revision of its last write.
    pub(super) revision: u64,
    /// The schema in force when it was written; `None` if that was in another life.
    epoch: Option<u64>,
    /// As it was written.
    stored: Form,
    /// As it is read under the schema in force, where that differs.
    served: Option<Form>,
    /// What is known of the owners of its fields.
    owners: Option<KnownOwners>,
}

/// What was found out about the owners of an object's fields. It stays true as long as writes change no more of the
/// entries than their times, as most do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownOwners {
    /// The schema in force by which they own nothing within what is owned as a whole.
    pub(crate) epoch: u64,
    /// Their weight for etcd, at most.
    pub(crate) weight: usize,
}

/// Whose the fields of an object are.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    /// As `metadata.managedFields` has it; `None` if that is not kept, or empty.
    pub(crate) entries: Option<Arc<Value>>,
    /// What is known of them from before.
    pub(crate) known: Option<KnownOwners>,
}

#[derive(Debug, Clone)]
enum Form {
    Tree(Stored),
    Text(Bytes),
}

impl Form {
    fn tree(&self) -> Stored {
        match self {
            Self::Tree(tree) => tree.clone(),
            // What was written by serde_json reads back; depth was bounded when it was written.
            Self::Text(text) => {
                let mut reader = serde_json::Deserializer::from_slice(text);
                reader.disable_recursion_limit();
                Stored::split(Value::deserialize(&mut reader).unwrap_or_default())
            }
        }
    }

    fn fold(&mut self, text: Option<Bytes>) {
        if let Self::Tree(tree) = self
            && let Some(text) = text.or_else(|| serde_json::to_vec(tree).ok().map(Bytes::from))
        {
            *self = Self::Text(text);
        }
    }
}

impl Entry {
    /// An object just written.
    pub(super) fn new(revision: u64, epoch: u64, object: Stored) -> Self {
        Self { revision, epoch: Some(epoch), stored: Form::Tree(object), served: None, owners: None }
    }

    /// An object of which nobody remembers the write.
    pub(super) fn restored(revision: u64, object: &Value) -> Self {
        let text = serde_json::to_vec(object).unwrap_or_default();
        Self { revision, epoch: None, stored: Form::Text(text.into()), served: None, owners: None }
    }

    /// The same, with what is known of the owners of its fields.
    pub(super) fn with_owners(self, owners: Option<KnownOwners>) -> Self {
        Self { owners, ..self }
    }

    /// Whether it was written by this schema.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch == Some(epoch)
    }

    /// Whether its last write came after a revision.
    pub(crate) fn is_since(&self, revision: u64) -> bool {
        self.revision > revision
    }

    /// Whose its fields are.
    pub(crate) fn owned(&self) -> Owned {
        Owned { entries: self.stored().owners().cloned(), known: self.owners }
    }

    /// What is known of the owners of its fields.
    pub(crate) fn owners(&self) -> Option<KnownOwners> {
        self.owners
    }

    /// As it was written.
    pub(crate) fn stored(&self) -> Stored {
        self.stored.tree()
    }

    /// As it is read under the schema in force.
    pub(crate) fn served(&self) -> Stored {
        self.served.as_ref().unwrap_or(&self.stored).tree()
    }

    /// Is read as `served` from now on.
    pub(super) fn serve(&mut self, served: Stored) {
        self.served = (served != self.stored()).then_some(Form::Tree(served));
    }

    /// Turns trees into text. `text` is that of the object as it was written, if somebody has it already.
    pub(super) fn fold(&mut self, text: Option<Bytes>) {
        self.stored.fold(text);
        if let Some(served) = &mut self.served {
            served.fold(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_reads_the_same_as_text() {
        let object = Stored::split(json!({ "spec": { "a": [1, 1.0, -3, u64::MAX, "ü\n", null, true] } }));
        let mut entry = Entry::new(1, 0, object.clone());
        entry.serve(Stored::split(json!({ "spec": {} })));
        entry.fold(None);
        assert_eq!(entry.stored(), object);
        assert_eq!(*entry.served(), json!({ "spec": {} }));
    }

    #[test]
    fn an_object_that_nests_deep_reads_the_same_as_text() {
        let object = (0..300).fold(json!(1), |inner, _| json!([inner]));
        let mut entry = Entry::new(1, 0, Stored::split(object.clone()));
        entry.fold(None);
        assert_eq!(*entry.stored(), object);
    }
}
