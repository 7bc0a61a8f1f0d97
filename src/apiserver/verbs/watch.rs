//! Beginning a watch, and going on with it.

use std::collections::VecDeque;

use bytes::Bytes;
use jiff::SignedDuration;

use crate::apiserver::call::Call;
use crate::apiserver::options;
use crate::apiserver::reply::{Reply, ReplyBody};
use crate::apiserver::selector::Selector;
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};
use crate::apiserver::store;
use crate::apiserver::watch::{Poll, Watch, bookmark};
use crate::base::clock::Time;

/// How long a watch lasts that does not say: between 30 and 60 minutes in a real server.
const TIMEOUT_SECONDS: i64 = 1800;

impl ApiServer {
    /// What a watch has to send at `now`.
    pub fn poll(&self, watch: &mut Watch, now: Time) -> Poll {
        watch.poll(&self.store, &self.catalog, now)
    }

    pub(crate) fn watch(&self, call: &Call<'_>) -> Outcome<Reply> {
        let query = &call.request.query;
        options::check_list(query, true, &self.profile)?;
        let mut selector = Selector::read(&call.kind, query)?;
        if !call.path.name.is_empty() {
            selector.only_name(&call.path.name);
        }
        let text = query.get("resourceVersion");
        let asked = options::version(text).map_err(|why| {
            let value = crate::apiserver::gotext::quote(text);
            Refused::internal(format!("resourceVersion: Invalid value: {value}: {why}"))
        })?;
        let bookmarks = query.is_true("allowWatchBookmarks");
        let from_now = matches!(asked, None | Some(0));
        let send_initial = query.get("sendInitialEvents");
        let initial_wanted = if self.profile.watch_list && !send_initial.is_empty() {
            send_initial == "true"
        } else {
            from_now
        };
        let revision = self.store.revision();
        let mut initial = VecDeque::new();
        let mut cursor = asked.unwrap_or(revision);
        let mut ends = None;
        if let Some(asked) = asked.filter(|asked| initial_wanted && *asked > revision) {
            // A real server waits for that revision for some seconds first.
            initial.push_back(store::line("ERROR", &Refused::too_large_version(asked, revision).body()));
            ends = Some(Time::MIN);
        } else if initial_wanted {
            cursor = revision;
            initial = self.initial(call, &selector);
            if bookmarks && self.profile.watch_list {
                initial.push_back(bookmark(&call.kind, call.shape, revision, true));
            }
        } else if from_now {
            cursor = revision;
        }
        let seconds = options::integer(query, "timeoutSeconds")?;
        let seconds = if seconds > 0 { seconds } else { TIMEOUT_SECONDS };
        let timeout = || call.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Time::MAX);
        let ends = ends.unwrap_or_else(timeout);
        let watch = Watch::new(&call.kind, &call.path.namespace, selector, call.shape, cursor, initial)
            .with_bookmarks(bookmarks, call.now)
            .ending(ends);
        Ok(Reply::new(200, ReplyBody::Watch(Box::new(watch))))
    }

    /// An ADDED line for each object that is there.
    fn initial(&self, call: &Call<'_>, selector: &Selector) -> VecDeque<Bytes> {
        let listed = self.store.list(call.kind.table, &call.path.namespace);
        listed
            .map(|(_, _, entry)| Self::served(&call.kind, entry))
            .filter(|object| selector.matches(object))
            .map(|object| call.shape.line("ADDED", &object))
            .collect()
    }
}
