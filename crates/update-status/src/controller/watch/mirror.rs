//! The content of one named object whose watch delivers only metadata.
//!
//! Insights are published in large objects with frequent writes. With full watches and responses, the API
//! server would send the whole object each time to the controller that has just written it. So the controller
//! follows resource versions, and reads an object only if another client wrote it.

use kube::runtime::watcher::Event;

use super::cache::{Cache, Change};

/// One object and its last known content.
#[derive(Debug)]
pub(in crate::controller) struct Mirror<T> {
    name: &'static str,
    /// `metadata.resourceVersion` from the watch, by name.
    versions: Cache<String>,
    content: Option<Content<T>>,
}

#[derive(Debug)]
struct Content<T> {
    version: String,
    value: T,
}

impl<T> Mirror<T> {
    pub(in crate::controller) fn new(name: &'static str) -> Self {
        Self { name, versions: Cache::default(), content: None }
    }

    /// Applies an event with the name and resource version. Returns whether it is news: the controller's own
    /// writes are not, nor is anything older.
    pub(in crate::controller) fn apply_event(&mut self, event: Event<(String, String)>) -> bool {
        if let (Event::Apply((_, version)), Some(content)) = (&event, &self.content)
            && is_older(version, &content.version)
        {
            return false;
        }
        let changed = self.versions.apply(event) != Change::Nothing;
        if self.versions.is_synced() && !self.exists() {
            self.content = None;
        }
        changed && self.content.is_none() | self.wants_reading()
    }

    /// Returns whether a list was completed, so that the object's existence is known.
    pub(in crate::controller) fn is_listed(&self) -> bool {
        self.versions.is_synced()
    }

    /// Returns whether the object's content is known, or that it does not exist.
    pub(in crate::controller) fn is_synced(&self) -> bool {
        self.is_listed() && !self.wants_reading()
    }

    /// Returns whether the object differs from the known one and must be read.
    pub(in crate::controller) fn wants_reading(&self) -> bool {
        self.versions.get(self.name).is_some_and(|version| match &self.content {
            Some(content) => *version != content.version && !is_older(version, &content.version),
            None => true,
        })
    }

    /// Stores the object with its resource version after reading or creating it; `None` if it does not exist.
    pub(in crate::controller) fn set_content(&mut self, object: Option<(String, T)>) {
        let name = self.name.to_owned();
        let event = match &object {
            Some((version, _)) => Event::Apply((name, version.clone())),
            None => Event::Delete((name, String::new())),
        };
        self.versions.apply(event);
        self.content = object.map(|(version, value)| Content { version, value });
    }

    /// Returns its resource version and content.
    pub(in crate::controller) fn get(&self) -> Option<(&str, &T)> {
        let content = self.content.as_ref()?;
        Some((&content.version, &content.value))
    }

    /// Sets the resource version after a write, and returns the content for updating.
    pub(in crate::controller) fn written(&mut self, version: String) -> Option<&mut T> {
        self.versions.apply(Event::Apply((self.name.to_owned(), version.clone())));
        let content = self.content.as_mut()?;
        content.version = version;
        Some(&mut content.value)
    }

    /// Discards the content, so that it is read again.
    pub(in crate::controller) fn discard(&mut self) {
        self.content = None;
    }

    fn exists(&self) -> bool {
        self.versions.get(self.name).is_some()
    }
}

/// Returns whether a resource version is older than another, if both are numbers.
fn is_older(version: &str, than: &str) -> bool {
    matches!((version.parse::<u64>(), than.parse::<u64>()), (Ok(a), Ok(b)) if a < b)
}
