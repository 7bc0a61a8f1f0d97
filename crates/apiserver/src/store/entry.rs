//! A stored object: a tree while the history has its last write, text afterwards.
//!
//! A tree takes about ten times the memory of its text, and most objects of a large cluster are written once and read
//! seldom. So only recently written objects are trees: those whose last write is still in the history of all kinds.

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
    /// The epoch of the schema under which it was written; `None` if that was before the server's start.
    epoch: Option<u64>,
    /// The object as it was written.
    stored: Form,
    /// The object as the current schema reads it, if that differs.
    served: Option<Form>,
    /// Known facts about the owners of its fields.
    owners: Option<KnownOwners>,
}

/// Facts about the owners of an object's fields. They stay valid while writes only change the times of the entries, as
/// most writes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownOwners {
    /// The epoch of a schema under which no entry owns fields inside an atomic value.
    pub(crate) epoch: u64,
    /// An upper bound of their weight (`etcd::weight`).
    pub(crate) weight: usize,
}

/// The owners of an object's fields.
#[derive(Debug, Default)]
pub(crate) struct FieldOwners {
    /// The value of `metadata.managedFields`; `None` if it is empty or the server does not track it.
    pub(crate) entries: Option<Arc<Value>>,
    /// Facts known from earlier writes.
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
            // Parsing cannot fail: serde_json wrote the text. The depth was limited when the object was written.
            Self::Text(text) => {
                let mut reader = serde_json::Deserializer::from_slice(text);
                reader.disable_recursion_limit();
                Stored::split(Value::deserialize(&mut reader).unwrap_or_default())
            }
        }
    }

    fn make_text(&mut self, text: Option<Bytes>) {
        if let Self::Tree(tree) = self
            && let Some(text) = text.or_else(|| serde_json::to_vec(tree).ok().map(Bytes::from))
        {
            *self = Self::Text(text);
        }
    }
}

impl Entry {
    /// A newly written object.
    pub(super) fn new(revision: u64, epoch: u64, object: Stored) -> Self {
        Self { revision, epoch: Some(epoch), stored: Form::Tree(object), served: None, owners: None }
    }

    /// An object from a storage or snapshot, without its last write.
    pub(super) fn restored(revision: u64, object: &Value) -> Self {
        let text = serde_json::to_vec(object).unwrap_or_default();
        Self { revision, epoch: None, stored: Form::Text(text.into()), served: None, owners: None }
    }

    /// Sets the known facts about the owners of its fields.
    pub(super) fn with_owners(self, owners: Option<KnownOwners>) -> Self {
        Self { owners, ..self }
    }

    /// Whether it was written under the schema of this epoch.
    pub(crate) fn was_written_under(&self, epoch: u64) -> bool {
        self.epoch == Some(epoch)
    }

    /// Whether its text has more than this many bytes, roughly.
    pub(crate) fn is_larger_than(&self, bytes: usize) -> bool {
        match &self.stored {
            Form::Text(text) => text.len() > bytes,
            Form::Tree(tree) => remaining(tree, bytes) == 0,
        }
    }

    /// Whether it was last written after a revision.
    pub(crate) fn was_written_after(&self, revision: u64) -> bool {
        self.revision > revision
    }

    /// The owners of its fields.
    pub(crate) fn field_owners(&self) -> FieldOwners {
        FieldOwners { entries: self.stored().owners().cloned(), known: self.owners }
    }

    /// The known facts about the owners of its fields.
    pub(crate) fn known_owners(&self) -> Option<KnownOwners> {
        self.owners
    }

    /// The object as it was written.
    pub(crate) fn stored(&self) -> Stored {
        self.stored.tree()
    }

    /// The object as the current schema reads it.
    pub(crate) fn served(&self) -> Stored {
        self.served.as_ref().unwrap_or(&self.stored).tree()
    }

    /// Sets the object as the current schema reads it.
    pub(super) fn set_served(&mut self, served: Stored) {
        self.served = (served != self.stored()).then_some(Form::Tree(served));
    }

    /// Converts trees to text. `text` is the text of the object as it was written, if it is available.
    pub(super) fn make_text(&mut self, text: Option<Bytes>) {
        self.stored.make_text(text);
        if let Some(served) = &mut self.served {
            served.make_text(None);
        }
    }
}

/// The bytes that are left of a budget after the texts of a value.
fn remaining(value: &Value, budget: usize) -> usize {
    /// Quotes, a colon and a comma, or a number.
    const FRAME: usize = 8;
    let left = budget.saturating_sub(FRAME);
    match value {
        _ if left == 0 => 0,
        Value::String(text) => left.saturating_sub(text.len()),
        // Once nothing is left, each further element costs a call only.
        Value::Array(list) => list.iter().fold(left, |left, value| remaining(value, left)),
        Value::Object(map) => {
            map.iter().fold(left, |left, (name, value)| remaining(value, left.saturating_sub(name.len())))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => left,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn make_text_preserves_the_object() {
        let object = Stored::split(json!({ "spec": { "a": [1, 1.0, -3, u64::MAX, "ü\n", null, true] } }));
        let mut entry = Entry::new(1, 0, object.clone());
        entry.set_served(Stored::split(json!({ "spec": {} })));
        entry.make_text(None);
        assert_eq!(entry.stored(), object);
        assert_eq!(*entry.served(), json!({ "spec": {} }));
    }

    #[test]
    fn make_text_preserves_a_deeply_nested_object() {
        let object = (0..300).fold(json!(1), |inner, _| json!([inner]));
        let mut entry = Entry::new(1, 0, Stored::split(object.clone()));
        entry.make_text(None);
        assert_eq!(*entry.stored(), object);
    }
}
