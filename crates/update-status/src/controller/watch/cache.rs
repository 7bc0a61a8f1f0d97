//! The objects of one kind, as received from a watch.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;

/// Objects by name. A new list replaces them when it is complete.
#[derive(Debug)]
pub(in crate::controller) struct Cache<T> {
    objects: BTreeMap<String, T>,
    listing: BTreeMap<String, T>,
    synced: bool,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), listing: BTreeMap::new(), synced: false }
    }
}

/// The effect of an event on the cached objects.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::controller) enum Change {
    /// No change.
    Nothing,
    /// The object with this name was created, changed or deleted.
    One(String),
    /// Any objects.
    Any,
}

impl<T: PartialEq> Cache<T> {
    /// Applies an event of a watch with named objects.
    pub(in crate::controller) fn apply(&mut self, event: Event<(String, T)>) -> Change {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply((name, object)) => {
                self.listing.insert(name, object);
            }
            Event::InitDone => {
                self.objects = std::mem::take(&mut self.listing);
                self.synced = true;
                return Change::Any;
            }
            Event::Apply((name, object)) => {
                if self.objects.get(&name) != Some(&object) {
                    self.objects.insert(name.clone(), object);
                    return Change::One(name);
                }
            }
            Event::Delete((name, _)) => {
                self.objects.remove(&name);
                return Change::One(name);
            }
        }
        Change::Nothing
    }

    /// Returns whether a list was ever completed.
    pub(in crate::controller) fn is_synced(&self) -> bool {
        self.synced
    }

    pub(in crate::controller) fn objects(&self) -> &BTreeMap<String, T> {
        &self.objects
    }

    pub(in crate::controller) fn get(&self, name: &str) -> Option<&T> {
        self.objects.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_replaces_everything_once_it_is_complete() {
        let mut cache = Cache::default();
        let at = |name: &str| (name.to_owned(), ());
        let names = |cache: &Cache<()>| cache.objects().keys().cloned().collect::<Vec<_>>().join(" ");
        cache.apply(Event::Init);
        cache.apply(Event::InitApply(at("a")));
        assert_eq!((names(&cache).as_str(), cache.is_synced()), ("", false));
        cache.apply(Event::InitDone);
        cache.apply(Event::Apply(at("b")));
        assert_eq!((names(&cache).as_str(), cache.is_synced()), ("a b", true));
        cache.apply(Event::Init);
        cache.apply(Event::InitApply(at("x")));
        cache.apply(Event::Init);
        cache.apply(Event::InitApply(at("c")));
        assert_eq!(names(&cache), "a b");
        cache.apply(Event::InitDone);
        assert_eq!(names(&cache), "c");
        cache.apply(Event::Delete(at("c")));
        assert_eq!((names(&cache).as_str(), cache.is_synced()), ("", true));
    }

    #[test]
    fn an_event_without_a_difference_is_no_change() {
        let mut cache = Cache::default();
        let mut apply = |number: u32| cache.apply(Event::Apply(("a".to_owned(), number)));
        let changed = || Change::One("a".to_owned());
        assert_eq!([apply(1), apply(1), apply(2)], [changed(), Change::Nothing, changed()]);
        assert_eq!(cache.apply(Event::Delete(("a".to_owned(), 2))), changed());
    }
}
