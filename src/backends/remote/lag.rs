//! How far the watches of controllers are behind: cluster time stands still until they know what is known here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a watch is about: group, plural and namespace; an empty namespace is all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Topic {
    pub(super) group: String,
    pub(super) plural: String,
    pub(super) namespace: String,
}

/// A watch of a controller.
#[derive(Debug)]
pub(super) struct Delivery {
    topic: Topic,
    /// The revision that it has brought.
    brought: AtomicU64,
}

impl Delivery {
    /// It has brought a state of this revision.
    pub(super) fn brought(&self, revision: u64) {
        self.brought.fetch_max(revision, Ordering::Relaxed);
    }
}

/// All watches of controllers, and the newest revision that each of their topics has.
#[derive(Debug, Default)]
pub(super) struct Lag {
    newest: Mutex<BTreeMap<Topic, u64>>,
    watches: Mutex<Vec<Weak<Delivery>>>,
}

impl Lag {
    /// Something of a topic has this revision now.
    pub(super) fn moved(&self, topic: Topic, revision: u64) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        for topic in [Topic { namespace: String::new(), ..topic.clone() }, topic] {
            let known = newest.entry(topic).or_default();
            *known = revision.max(*known);
        }
    }

    /// A watch begins that tells of everything of a topic after a revision. It counts as long as somebody holds it.
    pub(super) fn watch(&self, topic: Topic, after: u64) -> Arc<Delivery> {
        let delivery = Arc::new(Delivery { topic, brought: AtomicU64::new(after) });
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&delivery));
        delivery
    }

    /// Whether a watch has still to bring what is known.
    pub(super) fn is_behind(&self) -> bool {
        self.behind().next().is_some()
    }

    /// Waits for those watches no longer.
    pub(super) fn give_up(&self) {
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

    fn nodes(namespace: &str) -> Topic {
        Topic { group: String::new(), plural: "pods".to_owned(), namespace: namespace.to_owned() }
    }

    #[test]
    fn a_watch_is_behind_until_it_brings_the_newest_of_its_topic() {
        let lag = Lag::default();
        lag.moved(nodes("a"), 5);
        let (all, other) = (lag.watch(nodes(""), 3), lag.watch(nodes("b"), 3));
        assert!(lag.is_behind());
        all.brought(5);
        assert!(!lag.is_behind());
        lag.moved(nodes("b"), 7);
        all.brought(8);
        assert!(lag.is_behind());
        drop(other);
        assert!(!lag.is_behind());
    }

    #[test]
    fn a_watch_that_brings_nothing_is_waited_for_once() {
        let lag = Lag::default();
        let silent = lag.watch(nodes(""), 0);
        lag.moved(nodes("a"), 5);
        lag.give_up();
        assert!(!lag.is_behind());
        lag.moved(nodes("a"), 6);
        assert!(lag.is_behind());
        drop(silent);
    }
}
