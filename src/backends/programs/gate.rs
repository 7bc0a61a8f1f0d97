//! The gate between the cluster and the programs: while it is closed, no program is served.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::sync::watch;
use windtunnel_apiserver::https::{Gate, Pass};
use windtunnel_apiserver::service::ReplyStream;

/// The gate. Clones are the same gate.
#[derive(Debug, Clone)]
pub(super) struct ProgramGate {
    state: Arc<Mutex<State>>,
    changed: Arc<Condvar>,
    /// The number of the current opening; 0 while the gate is closed.
    opening: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    openings: u64,
    /// Requests that wait for the gate to open.
    waiting: usize,
    /// Requests that are being served.
    served: usize,
    /// The number of the last opening in which each watch had sent all its events.
    streams: BTreeMap<u64, u64>,
    next_stream: u64,
    /// The last request or event.
    last_activity: Option<Instant>,
    /// Requests and events so far.
    activities: u64,
}

impl State {
    #[expect(clippy::disallowed_methods, reason = "programs live in wall time")]
    fn be_active(&mut self) {
        self.activities += 1;
        self.last_activity = Some(Instant::now());
    }

    fn has_served_all(&self) -> bool {
        self.served == 0 && self.waiting == 0 && self.streams.values().all(|at| *at == self.openings)
    }
}

/// The traffic through the gate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traffic {
    /// No request is in flight, and every watch has sent all its events.
    pub(super) is_served: bool,
    /// The time since the last request or event.
    pub(super) since_activity: Duration,
    /// Requests and events so far.
    pub(super) activities: u64,
}

impl ProgramGate {
    /// A closed gate.
    pub(super) fn new() -> Self {
        Self { state: Arc::default(), changed: Arc::default(), opening: watch::Sender::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request waits in front of the gate.
    pub(super) fn has_waiting(&self) -> bool {
        self.lock().waiting > 0
    }

    pub(super) fn open(&self) {
        let mut state = self.lock();
        state.is_open = true;
        state.openings += 1;
        self.opening.send_replace(state.openings);
    }

    pub(super) fn close(&self) {
        self.lock().is_open = false;
        self.opening.send_replace(0);
    }

    /// Closes the gate, unless something passed it after `activities`. Returns whether it closed.
    pub(super) fn close_after(&self, activities: u64) -> bool {
        let mut state = self.lock();
        let closes = state.activities == activities && state.has_served_all();
        if closes {
            state.is_open = false;
            self.opening.send_replace(0);
        }
        closes
    }

    /// Waits until something passes the gate, at most for `limit`. Returns the traffic so far.
    pub(super) fn wait(&self, limit: Duration) -> Traffic {
        let state = self.lock();
        let (state, _) = self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner);
        traffic(&state)
    }

    /// The traffic so far.
    pub(super) fn traffic(&self) -> Traffic {
        traffic(&self.lock())
    }

    /// Ends the current wait.
    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    fn change(&self, call: impl FnOnce(&mut State)) {
        call(&mut self.lock());
        self.changed.notify_all();
    }
}

fn traffic(state: &State) -> Traffic {
    Traffic {
        is_served: state.has_served_all(),
        since_activity: state.last_activity.map_or(Duration::MAX, |at| at.elapsed()),
        activities: state.activities,
    }
}

impl Gate for ProgramGate {
    fn enter(&self) -> Pin<Box<dyn Future<Output = Pass> + Send>> {
        let gate = self.clone();
        Box::pin(async move {
            let mut opening = gate.opening.subscribe();
            let mut waiting = Waiting::new(&gate);
            loop {
                if let Some(pass) = waiting.pass() {
                    return Box::new(pass) as Pass;
                }
                // The gate holds the sender.
                let _ = opening.wait_for(|number| *number != 0).await;
            }
        })
    }

    fn stream(&self, body: ReplyStream) -> ReplyStream {
        let mut number = 0;
        self.change(|state| {
            number = state.next_stream;
            state.next_stream += 1;
            state.streams.insert(number, 0);
        });
        let opened = next(self.opening.subscribe());
        Stream { gate: self.clone(), number, body, opened }.boxed_unsync()
    }
}

/// A request in front of the gate. It may be given up there.
struct Waiting {
    gate: ProgramGate,
    waits: bool,
}

impl Waiting {
    fn new(gate: &ProgramGate) -> Self {
        gate.change(|state| state.waiting += 1);
        Self { gate: gate.clone(), waits: true }
    }

    /// Passes the gate if it is open.
    fn pass(&mut self) -> Option<Served> {
        let mut state = self.gate.lock();
        if !state.is_open {
            return None;
        }
        state.waiting -= 1;
        state.served += 1;
        state.be_active();
        self.waits = false;
        drop(state);
        Some(Served(self.gate.clone()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.waits {
            self.gate.change(|state| state.waiting -= 1);
        }
    }
}

/// A request that is being served.
struct Served(ProgramGate);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.served -= 1;
            state.be_active();
        });
    }
}

type Opened = Pin<Box<dyn Future<Output = watch::Receiver<u64>> + Send>>;

/// Waits for the next time that the gate opens or closes.
fn next(mut opening: watch::Receiver<u64>) -> Opened {
    Box::pin(async move {
        let _ = opening.changed().await;
        opening
    })
}

/// The body of a watch, which sends nothing while the gate is closed.
struct Stream {
    gate: ProgramGate,
    number: u64,
    body: ReplyStream,
    opened: Opened,
}

impl Stream {
    /// Polls for the next change of the gate, so that it wakes this body. Returns the number of the opening.
    fn opening(&mut self, cx: &mut Context<'_>) -> u64 {
        while let Poll::Ready(opening) = self.opened.as_mut().poll(cx) {
            self.opened = next(opening);
        }
        *self.gate.opening.borrow()
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let opening = self.opening(cx);
        if opening == 0 {
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let number = self.number;
        self.gate.change(|state| match &polled {
            Poll::Pending => {
                state.streams.insert(number, opening);
            }
            Poll::Ready(_) => state.be_active(),
        });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let number = self.number;
        self.gate.change(|state| {
            state.streams.remove(&number);
        });
    }
}
