//! The verb `watch`: starts a watch, and polls it for new lines.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::call::Call;
use crate::faults::{Reader, Sight};
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::watch_stream::{Initial, Poll, Progress, Watch};
use crate::reply::{Reply, ReplyBody};
use crate::request::accept::{self, Media, Shape};
use crate::request::options;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::store;

/// The shortest duration of a watch without `timeoutSeconds` (`--min-request-timeout`). The longest is twice as long.
const MIN_TIMEOUT_SECONDS: u64 = 1800;

impl ApiServer {
    /// The lines that a watch has to send at `now`. Calls conversion webhooks if needed.
    pub fn poll(&mut self, watch: &mut Watch, now: Time) -> Poll {
        loop {
            match self.advance_watch(watch, now) {
                Progress::Poll(poll) => return poll,
                Progress::Call(call) => watch.record_answer(&self.hooks.call(&call)),
            }
        }
    }

    /// Advances a watch to its next lines, or to the next call of a conversion webhook.
    pub(crate) fn advance_watch(&mut self, watch: &mut Watch, now: Time) -> Progress {
        if !self.faults.change_views() || watch.is_over() {
            return self.advance_in_sight(watch, Sight::present(&self.store), now);
        }
        let (reader, visible) = (watch.reader().clone(), self.store.visible());
        if let Some(cut) = self.faults.cut_at_once(&reader, watch.number(), visible, now) {
            return Progress::Poll(watch.cut(Vec::new(), cut, visible));
        }
        let sight = self.faults.sight(&reader, &self.store, now);
        match self.advance_in_sight(watch, sight, now) {
            Progress::Poll(Poll::Lines(lines)) if watch.sent_events() => {
                match self.faults.cut_at_event(&reader, lines.len(), visible, now) {
                    Some(cut) => Progress::Poll(watch.cut(lines, cut, visible)),
                    None => Progress::Poll(Poll::Lines(lines)),
                }
            }
            Progress::Poll(Poll::PendingUntil(at)) => {
                Progress::Poll(Poll::PendingUntil(at.min(sight.changes_at)))
            }
            other => other,
        }
    }

    /// Advances a watch that sees the events up to a horizon.
    fn advance_in_sight(&self, watch: &mut Watch, sight: Sight, now: Time) -> Progress {
        match watch.advance(&self.store, sight, &self.catalog, now) {
            Progress::Call(call) => Progress::Call(self.with_service_endpoint(call)),
            poll @ Progress::Poll(_) => poll,
        }
    }

    pub(crate) fn watch(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.request.query;
        let mut selector = Selector::of_options(&call.kind, query, true, &self.profile)?;
        if !call.path.name.is_empty() {
            selector.only_name(&call.path.name);
        }
        let text = query.get("resourceVersion");
        let requested = options::version(text).map_err(|why| {
            let value = crate::gotext::quote(text);
            BoxedRejection::internal(format!("resourceVersion: Invalid value: {value}: {why}"))
        })?;
        let seconds = options::integer(query, "timeoutSeconds")?;
        if call.media == Media::Yaml {
            return Err(accept::no_stream());
        }
        let view = call.view.with_options(query)?;
        let (cursor, initial) = self.initial_state(call, &selector, requested);
        // An event has no list, so the encoder of a real server fails at the first one.
        let is_of_lists = matches!(view.shape, Shape::MetadataList(_));
        let (initial, cursor) =
            if is_of_lists { (VecDeque::new(), self.store.revision()) } else { (initial, cursor) };
        let ends = if is_of_lists || matches!(initial.front(), Some(Initial::Error(_))) {
            Time::MIN
        } else {
            let drawn = self.draws.watch_seconds(MIN_TIMEOUT_SECONDS, 2 * MIN_TIMEOUT_SECONDS);
            let seconds = if seconds > 0 { seconds } else { drawn.try_into().unwrap_or(i64::MAX) };
            call.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Time::MAX)
        };
        let reader = Reader::of(call.request, &call.kind, call.path, "watch");
        let has_expired = requested.is_some_and(|from| from > 0 && self.faults.has_expired(&reader, from));
        let mut watch = Watch::new(&call.kind, &call.path.namespace, selector, view, cursor, initial)
            .read_by(reader, self.faults.start_watch())
            .ending_at(ends)
            .with_counter(self.paths.metrics().watching())
            .with_bookmarks(query.is_true("allowWatchBookmarks"), call.now);
        if has_expired {
            watch.expire(self.store.visible());
        }
        Ok(Reply::new(200, ReplyBody::Watch(Box::new(watch))))
    }

    /// The revision after which a watch sends events, and the lines that it sends before them.
    fn initial_state(
        &self,
        call: &Call<'_>,
        selector: &Selector,
        requested: Option<u64>,
    ) -> (u64, VecDeque<Initial>) {
        let query = &call.request.query;
        let revision = self.store.table_revision(call.kind.table);
        let from_now = matches!(requested, None | Some(0));
        let send_initial = query.get("sendInitialEvents");
        let streams = self.profile.watch_list;
        let wanted =
            if streams && !send_initial.is_empty() { query.is_true("sendInitialEvents") } else { from_now };
        if !wanted {
            let start = if from_now { revision } else { requested.unwrap_or(revision) };
            return (call.past.filter(|_| from_now).unwrap_or(start), VecDeque::new());
        }
        if let Some(future) = requested.filter(|requested| *requested > revision) {
            // A real server first waits some seconds for that revision.
            let line = store::error_line(&BoxedRejection::too_large_version(future, revision).body());
            return (future, VecDeque::from([Initial::Error(line)]));
        }
        let (objects, revision) = match self.cached_objects(call) {
            Some((objects, past)) => (objects, past),
            None => (self.current_objects(call, selector.name()), revision),
        };
        let mut initial: VecDeque<Initial> =
            objects.into_iter().map(|(_, object)| Initial::Added(object)).collect();
        if streams && query.is_true("allowWatchBookmarks") {
            initial.push_back(Initial::End(revision));
        }
        (revision, initial)
    }
}
