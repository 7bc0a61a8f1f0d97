//! A stream adapter that polls a stream only after its wake-up. Of a dozen watches in one task usually one is
//! ready, and polling a watch is slow.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::task::{ArcWake, AtomicWaker, waker};
use futures::{Stream, StreamExt as _};

/// A stream that is not polled again before it wakes its task.
pub(in crate::controller) struct PollOnWake<S> {
    stream: S,
    signal: Arc<Signal>,
}

struct Signal {
    /// Whether the stream has requested a poll since the last one.
    is_due: AtomicBool,
    /// The task that polls the adapter.
    task: AtomicWaker,
}

impl ArcWake for Signal {
    fn wake_by_ref(signal: &Arc<Self>) {
        signal.is_due.store(true, Ordering::Release);
        signal.task.wake();
    }
}

impl<S> PollOnWake<S> {
    /// Wraps a stream; the first poll reaches it in any case.
    pub(in crate::controller) fn new(stream: S) -> Self {
        Self { stream, signal: Arc::new(Signal { is_due: AtomicBool::new(true), task: AtomicWaker::new() }) }
    }
}

impl<S: Stream + Unpin> Stream for PollOnWake<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        // Registers first, so that every later wake-up reaches the current task.
        self.signal.task.register(context.waker());
        if !self.signal.is_due.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = waker(Arc::clone(&self.signal));
        let item = self.stream.poll_next_unpin(&mut Context::from_waker(&waker));
        if item.is_ready() {
            // The stream may have more items, for which it does not wake the task.
            self.signal.is_due.store(true, Ordering::Release);
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures::FutureExt as _;
    use futures::channel::mpsc;

    use super::*;

    #[tokio::test]
    async fn polls_a_stream_only_after_a_wake_up_and_loses_nothing() {
        let polls = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = mpsc::unbounded();
        let counted = Arc::clone(&polls);
        let counting = futures::stream::poll_fn(move |context| {
            counted.fetch_add(1, Ordering::Relaxed);
            receiver.poll_next_unpin(context)
        });
        let mut gate = PollOnWake::new(counting);
        for _ in 0..3 {
            assert_eq!(gate.next().now_or_never(), None);
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        sender.unbounded_send(1).unwrap();
        sender.unbounded_send(2).unwrap();
        assert_eq!([gate.next().now_or_never(), gate.next().now_or_never()], [Some(Some(1)), Some(Some(2))]);
        // The last polling task is woken, even though the stream was polled from another one.
        assert_eq!(gate.next().now_or_never(), None);
        let waiting = tokio::spawn(async move { gate.next().await });
        tokio::task::yield_now().await;
        sender.unbounded_send(3).unwrap();
        assert_eq!(waiting.await.unwrap(), Some(3));
    }
}
