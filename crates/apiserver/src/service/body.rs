//! Bodies of answers: bytes at once, or the lines of a watch as they come.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};

use super::{ReplyStream, Shared};
use crate::watch::{Poll, Progress, Watch};

/// A body that is there.
pub(crate) fn full(bytes: Bytes) -> ReplyStream {
    Full::new(bytes).boxed_unsync()
}

struct Lines {
    shared: Shared,
    watch: Watch,
    moved: tokio::sync::watch::Receiver<u64>,
    ready: VecDeque<Bytes>,
}

/// The lines of a watch. It sleeps until its kind moves, a bookmark is due or the watch ends.
pub(crate) fn watch(shared: Shared, watch: Watch) -> ReplyStream {
    let moved = shared.subscribe_to(watch.table());
    let lines = Lines { shared, watch, moved, ready: VecDeque::new() };
    let frames = stream::unfold(lines, |mut lines| async move {
        let line = lines.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(line)), lines))
    });
    StreamBody::new(frames).boxed_unsync()
}

impl Lines {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            // Mark what moved as seen before looking, so that a write in between wakes the wait below.
            self.moved.borrow_and_update();
            let now = self.shared.now();
            let progress = self.shared.lock().advance_watch(&mut self.watch, now);
            match progress {
                Progress::Call(call) => {
                    let answer = self.shared.call(call).await;
                    self.watch.answered(&answer);
                }
                Progress::Poll(Poll::Lines(lines)) => self.ready.extend(lines),
                Progress::Poll(Poll::Ended) => return None,
                Progress::Poll(Poll::PendingUntil(at)) => {
                    let wait = self.shared.until(at);
                    // Clocks have a grain; a wait of nothing would be a busy loop.
                    let wait = wait.max(Duration::from_millis(1));
                    if let Ok(Err(_)) = tokio::time::timeout(wait, self.moved.changed()).await {
                        return None;
                    }
                }
            }
        }
    }
}
