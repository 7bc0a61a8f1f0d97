//! A bounded ring of events in order of revision.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Event;

/// History does not reach back that far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooOld;

/// The last events, and up to which revision they were forgotten.
#[derive(Debug, Clone)]
pub(crate) struct History {
    events: VecDeque<Arc<Event>>,
    forgotten: u64,
    limit: usize,
}

impl History {
    pub(crate) fn new(forgotten: u64, limit: usize) -> Self {
        Self { events: VecDeque::new(), forgotten, limit: limit.max(1) }
    }

    /// Adds an event, and gives the one that is forgotten for it.
    pub(crate) fn push(&mut self, event: Arc<Event>) -> Option<Arc<Event>> {
        let oldest = if self.events.len() >= self.limit { self.events.pop_front() } else { None };
        if let Some(oldest) = &oldest {
            self.forgotten = oldest.revision;
        }
        self.events.push_back(event);
        oldest
    }

    /// Up to which revision events are forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The revision of the last event, or up to which they were forgotten if there is none.
    pub(crate) fn latest(&self) -> u64 {
        self.events.back().map_or(self.forgotten, |event| event.revision)
    }

    /// The events after a revision.
    ///
    /// # Errors
    /// Some of them are forgotten.
    pub(crate) fn since(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, TooOld> {
        if revision < self.forgotten {
            return Err(TooOld);
        }
        // Most who ask have seen everything: one look at the last event tells, where a search would touch many.
        let start = match self.events.back() {
            Some(last) if last.revision > revision => {
                self.events.partition_point(|event| event.revision <= revision)
            }
            _ => self.events.len(),
        };
        Ok(self.events.range(start..))
    }

    /// Takes back everything after a revision, as if it had not happened.
    pub(crate) fn rewind(&mut self, revision: u64) {
        let kept = self.events.partition_point(|event| event.revision <= revision);
        self.events.truncate(kept);
        // What was forgotten after it did not happen either.
        self.forgotten = self.forgotten.min(revision);
    }

    /// Forgets everything up to a revision.
    pub(crate) fn compact(&mut self, revision: u64) {
        let end = self.events.partition_point(|event| event.revision <= revision);
        self.events.drain(..end);
        self.forgotten = self.forgotten.max(revision);
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
    fn a_cursor_sees_what_came_after_it() {
        assert_eq!(since(&history(9, [2, 4, 7]), 2), Ok(vec![4, 7]));
        assert_eq!(since(&history(9, [2, 4, 7]), 7), Ok(vec![]));
    }

    #[test]
    fn a_cursor_older_than_history_is_refused() {
        let mut history = history(2, [2, 4, 7]);
        assert_eq!(since(&history, 1), Err(TooOld));
        assert_eq!(since(&history, 2), Ok(vec![4, 7]));
        history.compact(4);
        assert_eq!(since(&history, 3), Err(TooOld));
        assert_eq!(since(&history, 4), Ok(vec![7]));
    }

    #[test]
    fn what_is_taken_back_is_not_there_and_was_not_forgotten() {
        let mut history = history(2, [2, 4, 7]);
        history.rewind(4);
        assert_eq!((since(&history, 2), history.latest()), (Ok(vec![4]), 4));
        history.rewind(1);
        assert_eq!((since(&history, 1), history.latest()), (Ok(vec![]), 1));
    }
}
