//! A bounded ring of events in order of revision.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Event;

/// The history no longer has all events after the requested revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooOld;

/// The last events.
#[derive(Debug, Clone)]
pub(crate) struct History {
    events: VecDeque<Arc<Event>>,
    /// The revision up to which events were dropped.
    compacted: u64,
    limit: usize,
}

impl History {
    pub(crate) fn new(compacted: u64, limit: usize) -> Self {
        Self { events: VecDeque::new(), compacted, limit: limit.max(1) }
    }

    /// Adds an event. Returns the oldest event if it was dropped to make room.
    pub(crate) fn push(&mut self, event: Arc<Event>) -> Option<Arc<Event>> {
        let oldest = if self.events.len() >= self.limit { self.events.pop_front() } else { None };
        if let Some(oldest) = &oldest {
            self.compacted = oldest.revision;
        }
        self.events.push_back(event);
        oldest
    }

    /// The revision up to which events were dropped.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The revision of the last event; without events, the revision up to which they were dropped.
    pub(crate) fn latest(&self) -> u64 {
        self.events.back().map_or(self.compacted, |event| event.revision)
    }

    /// The revision before the last `count` events.
    pub(crate) fn before_last(&self, count: u32) -> u64 {
        let end = self.events.len().checked_sub(usize::try_from(count).unwrap_or(usize::MAX));
        let event = end.and_then(|end| end.checked_sub(1)).and_then(|index| self.events.get(index));
        event.map_or(self.compacted, |event| event.revision)
    }

    /// The events after a revision.
    ///
    /// # Errors
    /// Some of them were dropped.
    pub(crate) fn since(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, TooOld> {
        if revision < self.compacted {
            return Err(TooOld);
        }
        // Most callers have seen all events: comparing the last one is cheaper than a search.
        let start = match self.events.back() {
            Some(last) if last.revision > revision => {
                self.events.partition_point(|event| event.revision <= revision)
            }
            _ => self.events.len(),
        };
        Ok(self.events.range(start..))
    }

    /// Removes all events after a revision, because the store reverted their writes.
    pub(crate) fn rewind(&mut self, revision: u64) {
        let count = self.events.partition_point(|event| event.revision <= revision);
        self.events.truncate(count);
        // Dropped events after the revision were reverted, too.
        self.compacted = self.compacted.min(revision);
    }

    /// Drops all events up to a revision.
    pub(crate) fn compact(&mut self, revision: u64) {
        let end = self.events.partition_point(|event| event.revision <= revision);
        self.events.drain(..end);
        self.compacted = self.compacted.max(revision);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources;

    use super::*;
    use crate::store::{EventKind, Stored};

    fn history(limit: usize, revisions: impl IntoIterator<Item = u64>) -> History {
        let mut history = History::new(0, limit);
        for revision in revisions {
            let key = resources::NODES.key("", "n");
            let event = Event::new(0, revision, EventKind::Added, key, Stored::split(json!({})), None, 0);
            history.push(Arc::new(event));
        }
        history
    }

    fn since(history: &History, revision: u64) -> Result<Vec<u64>, TooOld> {
        history.since(revision).map(|events| events.map(|event| event.revision).collect())
    }

    #[test]
    fn since_returns_later_events() {
        assert_eq!(since(&history(9, [2, 4, 7]), 2), Ok(vec![4, 7]));
        assert_eq!(since(&history(9, [2, 4, 7]), 7), Ok(vec![]));
        assert_eq!([0, 1, 2, 3, 4].map(|count| history(9, [2, 4, 7]).before_last(count)), [7, 4, 2, 0, 0]);
    }

    #[test]
    fn since_rejects_a_revision_older_than_the_history() {
        let mut history = history(2, [2, 4, 7]);
        assert_eq!(since(&history, 1), Err(TooOld));
        assert_eq!(since(&history, 2), Ok(vec![4, 7]));
        history.compact(4);
        assert_eq!(since(&history, 3), Err(TooOld));
        assert_eq!(since(&history, 4), Ok(vec![7]));
    }

    #[test]
    fn rewind_removes_later_events_and_lowers_the_compacted_revision() {
        let mut history = history(2, [2, 4, 7]);
        history.rewind(4);
        assert_eq!((since(&history, 2), history.latest()), (Ok(vec![4]), 4));
        history.rewind(1);
        assert_eq!((since(&history, 1), history.latest()), (Ok(vec![]), 1));
    }
}
