//! The objects of lists, and of the initial events of watches. Each is only converted to a tree when it is needed, so that a
//! long list takes little more memory than the store.

use std::sync::Arc;

use crate::kinds::Kind;
use crate::store::{Entry, Stored};

/// An object of a list.
#[derive(Debug, Clone)]
pub(crate) enum LazyObject {
    /// An object in its served form.
    Loaded(Stored),
    /// A stored object, and the kind that converts it to the served form.
    Stored(Arc<Kind>, Entry),
}

impl LazyObject {
    /// Wraps a stored object. If a webhook has to convert it, the conversion runs here, where the request can still wait for
    /// the webhook.
    pub(crate) fn from_entry(kind: &Arc<Kind>, entry: &Entry) -> Self {
        if kind.conversion().is_some() {
            return Self::Loaded(kind.served(entry));
        }
        Self::Stored(Arc::clone(kind), entry.clone())
    }

    /// The object in its served form.
    pub(crate) fn load(&self) -> Stored {
        match self {
            Self::Loaded(object) => object.clone(),
            Self::Stored(kind, entry) => kind.served(entry),
        }
    }
}
