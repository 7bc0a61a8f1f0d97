//! The requests of actors: made one after the other, and retried as client-go retries them.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::{Answer, Identity, Object, Rejection, Write};

use super::{ActorId, Schedule};

/// How often client-go retries a request (`maxRetries`).
const RETRIES_MAX: u32 = 10;

/// A request that an actor's client makes.
#[derive(Debug, Clone)]
pub struct Request {
    /// The name of the actor.
    pub by: String,
    /// The user agent of its client.
    pub agent: String,
    /// The user that the API server sees.
    pub identity: Identity,
    /// The write.
    pub write: Write,
}

impl Schedule {
    /// Adds requests to those that an actor still has to make.
    pub fn queue(&mut self, id: ActorId, writes: Vec<Write>) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.client.unsent.extend(writes);
        }
    }

    /// Takes the next request of an actor. Returns `None` while its client waits for a retry, and when all
    /// requests are made: then the answers are in the actor's inbox, and the actor is ready.
    pub fn next_request(&mut self, id: ActorId, now: Time) -> Option<Request> {
        let slot = self.slots.get_mut(&id)?;
        if slot.client.retry_at.is_some_and(|at| at > now) {
            return None;
        }
        if let Some(write) = slot.client.unsent.pop_front() {
            let identity = slot.actor.identity_for(&write).unwrap_or_else(|| slot.identity.clone());
            let by = slot.actor.name().to_owned();
            let agent = agent(&by, &slot.identity);
            return Some(Request { by, agent, identity, write });
        }
        if !slot.client.unread.is_empty() {
            slot.inbox.answers.append(&mut slot.client.unread);
            self.ready.insert(id);
        }
        None
    }

    /// Takes the answer to a request of [`Schedule::next_request`]. The client retries a request if the
    /// server asks for it (429 and 5xx with `Retry-After`), and the actor does not see that answer.
    pub fn answer(&mut self, id: ActorId, write: Write, outcome: Result<Object, Rejection>, now: Time) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let client = &mut slot.client;
        if let Some(pause) = retry_after(&outcome).filter(|_| client.retries < RETRIES_MAX) {
            let at = after(now, pause);
            client.retry_at = Some(at);
            client.retries += 1;
            client.unsent.push_front(write);
            self.retries.insert((at, id));
            return;
        }
        client.retry_at = None;
        client.retries = 0;
        client.unread.push(Answer { write, outcome });
    }

    /// Takes the next actor whose client has a retry due.
    pub fn next_retry(&mut self, now: Time) -> Option<ActorId> {
        let due = self.retries.first().copied().filter(|(at, _)| *at <= now)?;
        self.retries.remove(&due);
        Some(due.1)
    }
}

/// The user agent of an actor. The controllers of kube-controller-manager have service accounts in `kube-system`, and name
/// the program before the controller.
fn agent(name: &str, identity: &Identity) -> String {
    if identity.user.starts_with("system:serviceaccount:kube-system:") {
        return format!("kube-controller-manager/{name}");
    }
    name.to_owned()
}

/// How long the server asks a client to wait before a retry.
fn retry_after(outcome: &Result<Object, Rejection>) -> Option<SignedDuration> {
    let rejection =
        outcome.as_ref().err().filter(|rejection| rejection.code == 429 || rejection.code >= 500)?;
    let seconds = rejection.details["retryAfterSeconds"].as_i64().filter(|seconds| *seconds > 0)?;
    Some(SignedDuration::from_secs(seconds))
}
