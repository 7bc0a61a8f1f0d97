//! Objects of lists and of the beginning of watches, which may be many: each is made a tree when somebody looks at it,
//! and no sooner, so that a list takes no more memory than the store has.

use std::sync::Arc;

use super::kinds::Kind;
use super::server::ApiServer;
use super::store::{Entry, Stored};

/// One object.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    /// As it is shown.
    Shown(Stored),
    /// As it is stored; the kind says how it is shown.
    Stored(Arc<Kind>, Entry),
}

impl Held {
    /// What the store has. What a webhook has to convert is converted here, where the request can still wait for it.
    pub(crate) fn of(kind: &Arc<Kind>, entry: &Entry) -> Self {
        if kind.conversion().is_some() {
            return Self::Shown(ApiServer::served(kind, entry));
        }
        Self::Stored(Arc::clone(kind), entry.clone())
    }

    /// The object as it is shown.
    pub(crate) fn tree(&self) -> Stored {
        match self {
            Self::Shown(object) => object.clone(),
            Self::Stored(kind, entry) => ApiServer::served(kind, entry),
        }
    }
}
