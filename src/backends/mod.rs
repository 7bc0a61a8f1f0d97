//! "Give me a cluster": where a run takes place.

pub mod in_process;

use std::sync::Arc;

use tokio::sync::Notify;

use crate::base::clock::Time;
use crate::model::{Change, Identity, Object, Refusal, Write};
use crate::record::WriteEvent;

/// The one way into a cluster. Whatever the engine, its actors and its expectations know or do goes through here.
pub trait Door {
    /// Makes a request as `who` and gives the API server's answer.
    ///
    /// # Errors
    /// The API server's refusal.
    fn write(&mut self, who: &Identity, write: &Write, now: Time) -> Result<Object, Refusal>;

    /// What changed since the last call, in the order of the API server's revisions.
    fn changes(&mut self) -> Vec<Change>;

    /// Rolls the kube-apiserver to Kubernetes 1.`minor`.
    fn serve_kubernetes(&mut self, minor: u32);

    /// What kube clients asked to change since the last call, with the answers, for the record.
    fn client_writes(&mut self) -> Vec<WriteEvent>;

    /// Is notified after each request of a kube client that asked to change something.
    fn client_wrote(&self) -> Arc<Notify>;

    /// A kube client that acts as `who`, for controllers that run beside the engine.
    fn client(&self, who: &Identity) -> kube::Client;
}
