//! Beginning a watch, and going on with it.

use std::collections::VecDeque;

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use crate::call::Call;
use crate::reply::{Reply, ReplyBody};
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::watch::{Initial, Poll, Progress, Watch};
use crate::{options, store};

/// How long a watch lasts at least that does not say (`--min-request-timeout`); at most, twice as long.
const TIMEOUT_SECONDS: u64 = 1800;

impl ApiServer {
    /// What a watch has to send at `now`.
    pub fn poll(&self, watch: &mut Watch, now: Time) -> Poll {
        loop {
            match self.advance_watch(watch, now) {
                Progress::Poll(poll) => return poll,
                Progress::Call(call) => watch.answered(&self.hooks.call(&call)),
            }
        }
    }

    /// The same, up to the next call of a webhook.
    pub(crate) fn advance_watch(&self, watch: &mut Watch, now: Time) -> Progress {
        match watch.advance(&self.store, &self.catalog, now) {
            Progress::Call(call) => Progress::Call(self.routed(call)),
            poll @ Progress::Poll(_) => poll,
        }
    }

    pub(crate) fn watch(&mut self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.request.query;
        options::list::check(query, true, &self.profile)?;
        let mut selector = Selector::parse(&call.kind, query)?;
        if !call.path.name.is_empty() {
            selector.only_name(&call.path.name);
        }
        let text = query.get("resourceVersion");
        let asked = options::version(text).map_err(|why| {
            let value = crate::gotext::quote(text);
            Refused::internal(format!("resourceVersion: Invalid value: {value}: {why}"))
        })?;
        let seconds = options::integer(query, "timeoutSeconds")?;
        let (cursor, initial) = self.beginning(call, &selector, asked);
        let ends = if matches!(initial.front(), Some(Initial::Error(_))) {
            Time::MIN
        } else {
            let drawn = self.draws.watch_seconds(TIMEOUT_SECONDS, 2 * TIMEOUT_SECONDS);
            let seconds = if seconds > 0 { seconds } else { drawn.try_into().unwrap_or(i64::MAX) };
            call.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Time::MAX)
        };
        let watch = Watch::new(&call.kind, &call.path.namespace, selector, call.view, cursor, initial)
            .ending(ends)
            .counted(self.paths.metrics().watching())
            .with_bookmarks(query.is_true("allowWatchBookmarks"), call.now);
        Ok(Reply::new(200, ReplyBody::Watch(Box::new(watch))))
    }

    /// After which revision a watch tells of changes, and what it tells first.
    fn beginning(
        &self,
        call: &Call<'_>,
        selector: &Selector,
        asked: Option<u64>,
    ) -> (u64, VecDeque<Initial>) {
        let query = &call.request.query;
        let revision = self.store.shown(call.kind.table);
        let from_now = matches!(asked, None | Some(0));
        let send_initial = query.get("sendInitialEvents");
        let streams = self.profile.watch_list;
        let wanted =
            if streams && !send_initial.is_empty() { query.is_true("sendInitialEvents") } else { from_now };
        if !wanted {
            return (if from_now { revision } else { asked.unwrap_or(revision) }, VecDeque::new());
        }
        if let Some(future) = asked.filter(|asked| *asked > revision) {
            // A real server waits for that revision for some seconds first.
            let line = store::line("ERROR", &Refused::too_large_version(future, revision).body());
            return (future, VecDeque::from([Initial::Error(line)]));
        }
        let objects = self.objects_now(call, selector.name());
        let mut initial: VecDeque<Initial> =
            objects.into_iter().map(|(_, object)| Initial::Added(object)).collect();
        if streams && query.is_true("allowWatchBookmarks") {
            initial.push_back(Initial::End(revision));
        }
        (revision, initial)
    }
}
