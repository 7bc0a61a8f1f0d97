//! Large writes of clients over HTTPS, which a copy of the server prepares while others use the server.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;
use windtunnel_core::clock::Time;

use super::Shared;
use crate::call::attempt::Attempt;
use crate::request::Request;

impl Shared {
    /// A handle to the same server for clients that wait in real time: copies of the server prepare their large writes. At
    /// most half of the processors do that, so that the others answer small requests.
    pub(crate) fn preparing_large_writes(self) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { ahead: Some(Arc::new(Semaphore::new((processors / 2).max(1)))), ..self }
    }

    /// Prepares a large write. Other requests are not prepared.
    pub(super) async fn prepare(&self, request: &Request<'_>, now: Time, attempt: &mut Attempt) {
        let Some(turns) = &self.ahead else { return };
        loop {
            if !self.lock().is_worth_a_copy(request) {
                return;
            }
            // Webhooks may send large writes themselves, so no turn is held while they are called.
            let Ok(turn) = turns.acquire().await else { return };
            let copy = self.lock().copy_to_prepare();
            // The copy is also dropped there.
            let calls = beside(|| {
                let mut copy = copy;
                copy.prepare(request, now, attempt)
            });
            drop(turn);
            if calls.is_empty() {
                return;
            }
            self.call_all(calls, attempt).await;
        }
    }
}

/// Does work of some length without holding up the other tasks of this thread, if the runtime has more threads.
fn beside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
