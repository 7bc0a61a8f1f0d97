//! Response bodies: bytes, or the lines of a watch as they become available.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};

use super::{ReplyStream, Shared};
use crate::reply::followed_log::Follow;
use crate::subresources::log::Logs;
use crate::watch::stream::{Poll, Progress, Watch};

/// How often a followed log is checked for new lines.
const LOG_POLL: Duration = Duration::from_millis(200);

/// A complete body.
pub(crate) fn full(bytes: Bytes) -> ReplyStream {
    Full::new(bytes).boxed_unsync()
}

struct Lines {
    shared: Shared,
    watch: Watch,
    /// Changes with every write to the table of the watch.
    writes: tokio::sync::watch::Receiver<u64>,
    ready: VecDeque<Bytes>,
}

/// A body with the lines of a watch. It sleeps until its kind changes, a bookmark is due or the watch ends.
pub(crate) fn watch(shared: Shared, watch: Watch) -> ReplyStream {
    let writes = shared.subscribe_to(watch.table());
    let lines = Lines { shared, watch, writes, ready: VecDeque::new() };
    let frames = stream::unfold(lines, |mut lines| async move {
        let line = lines.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(line)), lines))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// A body with the lines of a log, as they are printed. It looks for new lines a few times a second of the wall clock.
pub(crate) fn follow(shared: Shared, follow: Follow) -> ReplyStream {
    let frames = stream::unfold((shared, follow), |(shared, mut follow)| async move {
        let mut text = follow.take_first();
        while text.is_empty() {
            tokio::time::sleep(LOG_POLL).await;
            text = Logs::of(&shared.lock()).more_lines(&mut follow)?;
        }
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(text))), (shared, follow)))
    });
    StreamBody::new(frames).boxed_unsync()
}

impl Lines {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            // Mark all writes as seen before polling, so that a write in between ends the wait below.
            self.writes.borrow_and_update();
            let now = self.shared.now();
            let progress = self.shared.lock().advance_watch(&mut self.watch, now);
            match progress {
                Progress::Call(wanted) => {
                    let answer = self.shared.call(wanted.call.clone()).await;
                    self.watch.record_answer(&wanted, &answer);
                }
                Progress::Events(lines) | Progress::Poll(Poll::Lines(lines)) => self.ready.extend(lines),
                Progress::Poll(Poll::Ended) => return None,
                Progress::Poll(Poll::PendingUntil(at)) => {
                    let wait = self.shared.until(at);
                    // Timers have a limited resolution; waiting for zero time would be a busy loop.
                    let wait = wait.max(Duration::from_millis(1));
                    if let Ok(Err(_)) = tokio::time::timeout(wait, self.writes.changed()).await {
                        return None;
                    }
                }
            }
        }
    }
}
