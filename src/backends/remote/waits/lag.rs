//! Tracks how far the watches of controllers lag: cluster time stands still until they have delivered what
//! the engine knows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The topic of a watch: group, plural and namespace; an empty namespace means all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::backends::remote) struct Topic {
    pub(in crate::backends::remote) group: String,
    pub(in crate::backends::remote) plural: String,
    pub(in crate::backends::remote) namespace: String,
}

#[derive(Debug)]
pub(in crate::backends::remote) struct Delivery {
    topic: Topic,
    /// The newest revision that it delivered.
    brought: AtomicU64,
}

impl Delivery {
    /// Notes that the watch delivered this revision.
    pub(in crate::backends::remote) fn brought(&self, revision: u64) {
        self.brought.fetch_max(revision, Ordering::Relaxed);
    }
}

/// All watches of controllers, and the newest known revision of each topic.
#[derive(Debug, Default)]
pub(in crate::backends::remote) struct Lag {
    newest: Mutex<BTreeMap<Topic, u64>>,
    watches: Mutex<Vec<Weak<Delivery>>>,
}

impl Lag {
    /// Notes a new revision of a topic.
    pub(in crate::backends::remote) fn moved(&self, topic: Topic, revision: u64) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        for topic in [Topic { namespace: String::new(), ..topic.clone() }, topic] {
            let known = newest.entry(topic).or_default();
            *known = revision.max(*known);
        }
    }

    /// Adds a watch without selectors that starts after a revision. It counts until the caller drops it.
    pub(in crate::backends::remote) fn watch(&self, topic: Topic, after: u64) -> Arc<Delivery> {
        let delivery = Arc::new(Delivery { topic, brought: AtomicU64::new(after) });
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&delivery));
        delivery
    }

    /// Returns whether a watch has not yet delivered a known revision.
    pub(in crate::backends::remote) fn is_behind(&self) -> bool {
        self.behind().next().is_some()
    }

    /// Stops waiting for the watches that lag now.
    pub(in crate::backends::remote) fn give_up(&self) {
        for (delivery, newest) in self.behind() {
            delivery.brought(newest);
        }
    }

    fn behind(&self) -> impl Iterator<Item = (Arc<Delivery>, u64)> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|watch| watch.strong_count() > 0);
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = watches.iter().filter_map(Weak::upgrade).filter_map(|delivery| {
            let newest = *newest.get(&delivery.topic)?;
            (delivery.brought.load(Ordering::Relaxed) < newest).then_some((delivery, newest))
        });
        behind.collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods_of(namespace: &str) -> Topic {
        Topic { group: String::new(), plural: "pods".to_owned(), namespace: namespace.to_owned() }
    }

    #[test]
    fn a_watch_lags_until_it_delivers_the_newest_revision_of_its_topic() {
        let lag = Lag::default();
        lag.moved(pods_of("a"), 5);
        let (all, other) = (lag.watch(pods_of(""), 3), lag.watch(pods_of("b"), 3));
        assert!(lag.is_behind());
        all.brought(5);
        assert!(!lag.is_behind());
        lag.moved(pods_of("b"), 7);
        all.brought(8);
        assert!(lag.is_behind());
        drop(other);
        assert!(!lag.is_behind());
    }

    #[test]
    fn gives_up_on_a_silent_watch_until_the_next_revision() {
        let lag = Lag::default();
        let silent = lag.watch(pods_of(""), 0);
        lag.moved(pods_of("a"), 5);
        lag.give_up();
        assert!(!lag.is_behind());
        lag.moved(pods_of("a"), 6);
        assert!(lag.is_behind());
        drop(silent);
    }
}
