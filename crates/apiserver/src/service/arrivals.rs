//! The order of requests that arrive at one moment of virtual time.
//!
//! A controller that works on several objects at once makes their requests in the order of a hash map, which differs
//! from run to run. So requests of one moment are answered in the order of their users, verbs, paths and bodies.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use windtunnel_core::clock::Time;

/// How often a request lets the others of its moment go first. A client may stop polling a request, which must not
/// stop the others.
const ROUNDS_MAX: u32 = 100;

/// A request that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: Time,
    user: String,
    agent: Vec<u8>,
    method: String,
    path: String,
    body: Bytes,
    /// Distinguishes equal requests.
    number: u64,
}

/// The requests that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    arrivals: BTreeSet<Arrival>,
    next: u64,
}

/// The parts of a request that decide its turn.
pub(super) struct OrderKey<'a> {
    pub(super) user: &'a str,
    pub(super) agent: &'a [u8],
    pub(super) method: &'a str,
    pub(super) path: String,
    pub(super) body: Bytes,
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A panic leaves the set consistent.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all requests that arrived at this moment and come before this one have been answered.
    pub(super) async fn wait_for_turn(self: &Arc<Self>, at: Time, key: OrderKey<'_>) {
        let place = Place::new(self, at, key);
        for _ in 0..ROUNDS_MAX {
            // All requests of this moment arrive before the first of them continues here.
            tokio::task::yield_now().await;
            if place.is_first() {
                break;
            }
        }
    }
}

/// The place of a request among those that wait. It is free again when the request is given up.
struct Place {
    arrivals: Arc<Arrivals>,
    arrival: Arrival,
}

impl Place {
    fn new(arrivals: &Arc<Arrivals>, at: Time, key: OrderKey<'_>) -> Self {
        let mut waiting = arrivals.lock();
        waiting.next += 1;
        let arrival = Arrival {
            at,
            user: key.user.to_owned(),
            agent: key.agent.to_vec(),
            method: key.method.to_owned(),
            path: key.path,
            body: key.body,
            number: waiting.next,
        };
        waiting.arrivals.insert(arrival.clone());
        drop(waiting);
        Self { arrivals: Arc::clone(arrivals), arrival }
    }

    fn is_first(&self) -> bool {
        let waiting = self.arrivals.lock();
        let mut of_moment = waiting.arrivals.iter().skip_while(|other| other.at < self.arrival.at);
        of_moment.next() == Some(&self.arrival)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.arrivals.lock().arrivals.remove(&self.arrival);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str) -> OrderKey<'_> {
        OrderKey { user: "u", agent: b"a", method: "GET", path: path.to_owned(), body: Bytes::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_one_moment_go_in_order_and_a_stuck_one_stops_no_other() {
        let arrivals = Arc::new(Arrivals::default());
        let order: Arc<Mutex<Vec<&str>>> = Arc::default();
        let stuck = Place::new(&arrivals, Time::UNIX_EPOCH, key("/0"));
        let tasks = ["/c", "/a", "/b"].map(|path| {
            let (arrivals, order) = (Arc::clone(&arrivals), Arc::clone(&order));
            tokio::spawn(async move {
                arrivals.wait_for_turn(Time::MAX, key(path)).await;
                order.lock().unwrap().push(path);
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["/a", "/b", "/c"]);
        arrivals.wait_for_turn(Time::UNIX_EPOCH, key("/1")).await;
        drop(stuck);
        assert!(arrivals.lock().arrivals.is_empty());
    }
}
