//! Work on several threads.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use windtunnel_core::panics;

use super::error::SessionError;

/// Calls `work` with each item on `jobs` threads. Returns the results in the order of the items.
pub(crate) fn map_in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let work = |(index, item): (usize, &T)| (index, work(item));
    let ((), mut results) = with_workers(jobs, work, |sender| {
        for item in items.iter().enumerate() {
            // The workers live as long as the sender.
            let _ = sender.send(item);
        }
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Calls `produce` on this thread, and `work` on `jobs` others with everything that `produce` sends. Sending waits
/// while all of them are busy. Returns the results in no particular order.
pub(in crate::engine) fn with_workers<W: Send, R: Send, T>(
    jobs: usize,
    work: impl Fn(W) -> R + Sync,
    produce: impl FnOnce(SyncSender<W>) -> T,
) -> (T, Vec<R>) {
    let (sender, receiver) = sync_channel(jobs);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..jobs.max(1)).map(|_| scope.spawn(|| work_through(&receiver, &work))).collect();
        // Without a sender the workers end.
        let produced = produce(sender);
        (produced, workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect())
    })
}

/// Runs work that may fail, and whose components may panic.
///
/// # Errors
/// Why there is no result, in words.
pub(in crate::engine) fn guarded<R>(work: impl FnOnce() -> Result<R, SessionError>) -> Result<R, String> {
    match panics::catch_panic(work) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("a component panicked: {panic}")),
    }
}

fn work_through<W, R>(received: &Mutex<Receiver<W>>, work: impl Fn(W) -> R) -> Vec<R> {
    let mut results = Vec::new();
    loop {
        let next = received.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(next) = next else { return results };
        results.push(work(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u32> = (0..50).collect();
        assert_eq!(map_in_parallel(&items, 4, |item| item * 2), (0..100).step_by(2).collect::<Vec<u32>>());
        assert_eq!(map_in_parallel(&items, 0, |item| *item), items);
    }
}
