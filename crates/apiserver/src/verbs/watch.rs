//! The verb `watch`: starts a watch, and polls it for new lines.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::call::{Call, RequestInfo};
use crate::faults::{Reader, Sight};
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::{Reply, ReplyBody};
use crate::request::accept::{self, Media, Shape};
use crate::request::options;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::store;
use crate::verbs::list::Lister;
use crate::watch::lines::WatchRequest;
use crate::watch::stream::{Initial, Poll, Progress, State, Timer, Watch, WatchClient};

/// The shortest duration of a watch without `timeoutSeconds` (`--min-request-timeout`). The longest is twice as long.
const MIN_TIMEOUT_SECONDS: u64 = 1800;

impl ApiServer {
    /// The lines that a watch has to send at `now`. Calls conversion webhooks if needed.
    pub fn poll(&mut self, watch: &mut Watch, now: Time) -> Poll {
        loop {
            match self.advance_watch(watch, now) {
                Progress::Events(lines) => return Poll::Lines(lines),
                Progress::Poll(poll) => return poll,
                Progress::Call(wanted) => watch.record_answer(&wanted, &self.hooks.call(&wanted.call)),
            }
        }
    }

    /// Advances a watch to its next lines, or to the next call of a conversion webhook.
    pub(crate) fn advance_watch(&mut self, watch: &mut Watch, now: Time) -> Progress {
        if !self.faults.change_views() || watch.is_over() {
            return watch.advance(self.stored_objects(), Sight::present(&self.store), now);
        }
        let (WatchClient { reader, number }, visible) = (watch.client(), self.store.visible());
        if let Some(cut) = self.faults.cut_at_once(reader, *number, visible, now) {
            return Progress::Poll(watch.cut(Vec::new(), cut, visible));
        }
        let sight = self.faults.sight(reader, &self.store, now);
        match watch.advance(self.stored_objects(), sight, now) {
            Progress::Events(lines) => {
                let reader = &watch.client().reader;
                match self.faults.cut_at_event(reader, lines.len(), visible, now) {
                    Some(cut) => Progress::Poll(watch.cut(lines, cut, visible)),
                    None => Progress::Events(lines),
                }
            }
            Progress::Poll(Poll::PendingUntil(at)) => {
                Progress::Poll(Poll::PendingUntil(at.min(sight.changes_at)))
            }
            other => other,
        }
    }

    pub(crate) fn watch(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.info.request.query;
        let mut selector = Selector::of_options(&call.info.kind, query, true, &self.profile)?;
        if !call.info.path.name.is_empty() {
            selector.only_name(&call.info.path.name);
        }
        selector.only_visible(call.info.visible.as_ref());
        let text = query.get("resourceVersion");
        let requested = options::version(text).map_err(|why| {
            let value = crate::gotext::quote(text);
            BoxedRejection::internal(format!("resourceVersion: Invalid value: {value}: {why}"))
        })?;
        let seconds = options::integer(query, "timeoutSeconds")?;
        if call.form.media == Media::Yaml {
            return Err(accept::no_stream());
        }
        let view = call.form.view.with_options(query)?;
        let start = self.start_of_watch(&call.info, &selector, requested);
        // An event has no list, so the encoder of a real server fails at the first one.
        let is_of_lists = matches!(view.shape, Shape::MetadataList(_));
        let start = if is_of_lists { (self.store.revision(), State::Over(None)) } else { start };
        let ends = match start.1 {
            State::Over(_) => call.info.now,
            State::Initial(_) | State::Events => self.end_of_watch(seconds, call.info.now),
        };
        let reader = Reader::of(&call.info, "watch");
        let has_expired = requested.is_some_and(|from| from > 0 && self.faults.has_expired(&reader, from));
        let client = WatchClient { reader, number: self.faults.start_watch() };
        let (kind, namespace) = (Arc::clone(&call.info.kind), call.info.path.namespace.clone().into_owned());
        let request = WatchRequest { kind, namespace, selector, view };
        let timer = Timer::new(ends, query.is_true("allowWatchBookmarks"), call.info.now);
        let mut watch = Watch::new(request, client, timer, start, self.paths.metrics().watching());
        if has_expired {
            watch.expire(self.store.visible());
        }
        Ok(Reply::new(200, ReplyBody::Watch(Box::new(watch))))
    }

    /// The end of a watch that starts now: after the duration that its client requested, or after a drawn one.
    fn end_of_watch(&mut self, seconds: i64, now: Time) -> Time {
        let drawn = self.draws.watch_seconds(MIN_TIMEOUT_SECONDS, 2 * MIN_TIMEOUT_SECONDS);
        let seconds = if seconds > 0 { seconds } else { drawn.try_into().unwrap_or(i64::MAX) };
        now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Time::MAX)
    }

    /// The revision after which a watch sends events, and what it sends before them.
    fn start_of_watch(
        &self,
        info: &RequestInfo<'_>,
        selector: &Selector,
        requested: Option<u64>,
    ) -> (u64, State) {
        let query = &info.request.query;
        let revision = self.store.table_revision(info.kind.table);
        let from_now = matches!(requested, None | Some(0));
        let send_initial = query.get("sendInitialEvents");
        let streams = self.profile.watch_list;
        let wanted =
            if streams && !send_initial.is_empty() { query.is_true("sendInitialEvents") } else { from_now };
        if !wanted {
            let start = if from_now { revision } else { requested.unwrap_or(revision) };
            return (info.past.filter(|_| from_now).unwrap_or(start), State::Events);
        }
        if let Some(future) = requested.filter(|requested| *requested > revision) {
            // A real server first waits some seconds for that revision.
            let line = store::error_line(&BoxedRejection::too_large_version(future, revision).body());
            return (future, State::Over(Some(line)));
        }
        let lister = Lister::of(self);
        let (objects, revision) = match lister.cached_objects(info) {
            Some((objects, past)) => (objects, past),
            None => (lister.current_objects(info, selector.name()), revision),
        };
        let mut initial: VecDeque<Initial> =
            objects.into_iter().map(|(_, object)| Initial::Added(object)).collect();
        if streams && query.is_true("allowWatchBookmarks") {
            initial.push_back(Initial::End(revision));
        }
        (revision, State::Initial(initial))
    }
}
