//! What is known of the one object of a name, whose watch tells its metadata alone.
//!
//! Insights are published into large objects that are written often. With each answer and each event an API server would
//! send the whole of them, to one who wrote them and knows what they hold. So resource versions are followed, and an object
//! is read only where somebody else wrote it.

use kube::runtime::watcher::Event;

use super::cache::{Cache, Change};

/// An object, as far as it is known.
#[derive(Debug)]
pub(super) struct Mirror<T> {
    name: &'static str,
    /// `metadata.resourceVersion` as the watch tells it, by name.
    versions: Cache<String>,
    content: Option<Content<T>>,
}

#[derive(Debug)]
struct Content<T> {
    version: String,
    held: T,
}

impl<T> Mirror<T> {
    /// Of the object of this name nothing is known yet.
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, versions: Cache::default(), content: None }
    }

    /// Takes in the name and the resource version that the watch tells. Gives whether that is news: what this controller
    /// wrote itself is none, and nothing from before it.
    pub(super) fn watched(&mut self, event: Event<(String, String)>) -> bool {
        if let (Event::Apply((_, version)), Some(content)) = (&event, &self.content)
            && is_older(version, &content.version)
        {
            return false;
        }
        let changed = self.versions.take(event) != Change::Nothing;
        if self.versions.is_synced() && !self.exists() {
            self.content = None;
        }
        changed && self.content.is_none() | self.wants_reading()
    }

    /// Whether a list was complete, so that it is known whether the object exists.
    pub(super) fn is_listed(&self) -> bool {
        self.versions.is_synced()
    }

    /// Whether it is known what the object holds, or that there is none.
    pub(super) fn is_synced(&self) -> bool {
        self.is_listed() && !self.wants_reading()
    }

    /// Whether the object is another than the one that is known.
    pub(super) fn wants_reading(&self) -> bool {
        self.versions.get(self.name).is_some_and(|version| match &self.content {
            Some(content) => *version != content.version && !is_older(version, &content.version),
            None => true,
        })
    }

    /// Takes in the object of a resource version as it was read or written; `None`: there is none.
    pub(super) fn holds(&mut self, object: Option<(String, T)>) {
        let name = self.name.to_owned();
        let event = match &object {
            Some((version, _)) => Event::Apply((name, version.clone())),
            None => Event::Delete((name, String::new())),
        };
        self.versions.take(event);
        self.content = object.map(|(version, held)| Content { version, held });
    }

    /// Its resource version, and what it holds.
    pub(super) fn get(&self) -> Option<(&str, &T)> {
        let content = self.content.as_ref()?;
        Some((&content.version, &content.held))
    }

    /// What it holds, to be changed as it was written; its resource version is `version` now.
    pub(super) fn written(&mut self, version: String) -> Option<&mut T> {
        self.versions.take(Event::Apply((self.name.to_owned(), version.clone())));
        let content = self.content.as_mut()?;
        content.version = version;
        Some(&mut content.held)
    }

    /// What it holds is not sure any more: it has to be read.
    pub(super) fn lose(&mut self) {
        self.content = None;
    }

    fn exists(&self) -> bool {
        self.versions.get(self.name).is_some()
    }
}

/// Whether one resource version is older than another, as far as they can be compared.
fn is_older(version: &str, than: &str) -> bool {
    matches!((version.parse::<u64>(), than.parse::<u64>()), (Ok(a), Ok(b)) if a < b)
}
