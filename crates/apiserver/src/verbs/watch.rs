//! The verb `watch`: starts a watch, and polls it for new lines.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::call::Call;
use crate::reply::watch_stream::{Initial, Poll, Progress, Watch};
use crate::reply::{Reply, ReplyBody};
use crate::request::options;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::store;

/// The shortest duration of a watch without `timeoutSeconds` (`--min-request-timeout`). The longest is twice as long.
const MIN_TIMEOUT_SECONDS: u64 = 1800;

impl ApiServer {
    /// The lines that a watch has to send at `now`. Calls conversion webhooks if needed.
    pub fn poll(&self, watch: &mut Watch, now: Time) -> Poll {
        loop {
            match self.advance_watch(watch, now) {
                Progress::Poll(poll) => return poll,
                Progress::Call(call) => watch.record_answer(&self.hooks.call(&call)),
            }
        }
    }

    /// Advances a watch to its next lines, or to the next call of a conversion webhook.
    pub(crate) fn advance_watch(&self, watch: &mut Watch, now: Time) -> Progress {
        match watch.advance(&self.store, &self.catalog, now) {
            Progress::Call(call) => Progress::Call(self.with_service_endpoint(call)),
            poll @ Progress::Poll(_) => poll,
        }
    }

    pub(crate) fn watch(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.request.query;
        options::list::check(query, true, &self.profile)?;
        let mut selector = Selector::parse(&call.kind, query, self.profile.minor)?;
        if !call.path.name.is_empty() {
            selector.only_name(&call.path.name);
        }
        let text = query.get("resourceVersion");
        let requested = options::version(text).map_err(|why| {
            let value = crate::gotext::quote(text);
            Refused::internal(format!("resourceVersion: Invalid value: {value}: {why}"))
        })?;
        let seconds = options::integer(query, "timeoutSeconds")?;
        let (cursor, initial) = self.initial_state(call, &selector, requested);
        let ends = if matches!(initial.front(), Some(Initial::Error(_))) {
            Time::MIN
        } else {
            let drawn = self.draws.watch_seconds(MIN_TIMEOUT_SECONDS, 2 * MIN_TIMEOUT_SECONDS);
            let seconds = if seconds > 0 { seconds } else { drawn.try_into().unwrap_or(i64::MAX) };
            call.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Time::MAX)
        };
        let watch = Watch::new(&call.kind, &call.path.namespace, selector, call.view, cursor, initial)
            .ending_at(ends)
            .with_counter(self.paths.metrics().watching())
            .with_bookmarks(query.is_true("allowWatchBookmarks"), call.now);
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
            return (if from_now { revision } else { requested.unwrap_or(revision) }, VecDeque::new());
        }
        if let Some(future) = requested.filter(|requested| *requested > revision) {
            // A real server first waits some seconds for that revision.
            let line = store::watch_line("ERROR", &Refused::too_large_version(future, revision).body());
            return (future, VecDeque::from([Initial::Error(line)]));
        }
        let objects = self.current_objects(call, selector.name());
        let mut initial: VecDeque<Initial> =
            objects.into_iter().map(|(_, object)| Initial::Added(object)).collect();
        if streams && query.is_true("allowWatchBookmarks") {
            initial.push_back(Initial::End(revision));
        }
        (revision, initial)
    }
}
