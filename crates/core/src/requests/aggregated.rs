//! Kinds of other API servers that share the address of this one, as kube-aggregator forwards requests to them.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

use super::{Identity, Rejection, Write};
use crate::clock::Time;
use crate::objects::{Object, Resource};

/// A kind of another API server.
#[derive(Debug, Clone)]
pub struct AggregatedKind {
    /// The kind.
    pub resource: Resource,
    /// Short names in discovery.
    pub short_names: &'static [&'static str],
    /// The verbs in discovery.
    pub verbs: &'static [&'static str],
    /// The stored kind whose objects have this kind as a second one, with the same fields and without a namespace. A user
    /// lists those that it may get in the stored kind. `None` if the objects are computed.
    pub shows: Option<Resource>,
}

/// A read of computed objects, or a create.
pub struct AggregatedRequest<'a> {
    /// The kind.
    pub resource: &'a Resource,
    /// The namespace; empty for all.
    pub namespace: &'a str,
    /// The name; empty for a list and a create.
    pub name: &'a str,
    /// The user.
    pub user: &'a Identity,
    /// The time of the request.
    pub now: Time,
    /// The stored objects of a kind, in order of namespace and name.
    pub stored: &'a dyn Fn(&Resource) -> Vec<Object>,
}

/// The answer to a read.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregatedReply {
    /// The objects of the namespace, before selectors.
    Objects(Vec<Value>),
    /// Another answer than objects.
    Answer(Value),
}

/// An API server beside this one.
pub trait AggregatedServer: Debug + Send + Sync {
    /// Its kinds. Kinds that the API server stores itself are not among them.
    fn kinds(&self) -> Vec<AggregatedKind>;

    /// The computed objects of a kind; `None` if it computes no objects of this kind and name.
    fn read(&self, request: &AggregatedRequest<'_>) -> Option<AggregatedReply>;

    /// The writes that a create makes as an administrator. The object of the first one is the answer, in the kind that
    /// shows it.
    ///
    /// # Errors
    /// The create is rejected.
    fn create(&self, request: &AggregatedRequest<'_>, object: &Value) -> Result<Vec<Write>, Rejection>;
}

/// The API servers beside an API server; none by default.
#[derive(Debug, Clone, Default)]
pub struct Aggregated(pub Option<Arc<dyn AggregatedServer>>);
