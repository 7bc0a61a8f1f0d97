//! "Give me a cluster": where a run takes place.

pub mod in_process;

use tokio::sync::watch;

use crate::base::clock::Time;
use crate::model::fault::{RequestFault, Requests};
use crate::model::{Change, Identity, Object, Refusal, View, Write};
use crate::record::WriteEvent;

/// The one way into a cluster. Whatever the engine, its actors and its expectations know or do goes through here.
pub trait Door: Send {
    /// Makes a request of the component `by`, its user agent, as `who`, and gives the API server's answer.
    ///
    /// # Errors
    /// The API server's refusal.
    fn write(&mut self, by: &str, who: &Identity, write: &Write, now: Time) -> Result<Object, Refusal>;

    /// Has the API server answer chosen requests with trouble.
    fn fail(&mut self, fault: RequestFault);

    /// Has it answer these requests as it should again, or all (`None`).
    fn heal(&mut self, requests: Option<&Requests>);

    /// What changed since the last call, in the order of the API server's revisions. `known` is what the changes of
    /// all calls before have led to: where the API server's history does not reach back to the last call, the changes
    /// are what differs from it, deletions first.
    fn changes(&mut self, known: &View) -> Vec<Change>;

    /// Rolls the kube-apiserver to Kubernetes 1.`minor`.
    fn serve_kubernetes(&mut self, minor: u32);

    /// What kube clients asked to change since the last call, with the answers and when, for the record.
    fn client_writes(&mut self) -> Vec<(Time, WriteEvent)>;

    /// How many requests kube clients have made so far, reads as well.
    fn client_requests(&self) -> u64;

    /// Tells of writes from now on, through whichever door: the receiver's value changes with each.
    fn subscribe(&self) -> watch::Receiver<u64>;

    /// A kube client that acts as `who`, for controllers that run beside the engine.
    fn client(&self, who: &Identity) -> kube::Client;
}
