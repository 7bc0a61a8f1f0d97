//! A change in the history, with its encoded watch lines.

use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use windtunnel_core::Key;

use super::{Stored, TableId};
use crate::gotext;
use crate::kinds::typed::go_order::GoOrder;
use crate::request::view::View;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The object was created.
    Added,
    /// The object was updated.
    Modified,
    /// The object was removed.
    Deleted,
    /// The object was not written, but its CustomResourceDefinition changed, and the new schema reads it differently.
    Reread,
}

impl EventKind {
    /// The `type` of a watch event.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified | Self::Reread => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A change of one object.
#[derive(Debug)]
pub struct Event {
    /// The table of the object.
    pub(crate) table: TableId,
    /// The store's revision after the change.
    pub revision: u64,
    /// The kind of the change.
    pub kind: EventKind,
    /// The key of the object.
    pub key: Key,
    /// The object after the change; for a removal, its last state with the revision of the removal.
    pub object: Stored,
    /// The object before the change, as the schema of that time read it.
    pub old: Option<Stored>,
    /// The epoch of the schema of `object`. Under a later schema the object must be converted.
    pub(crate) epoch: u64,
    line: OnceLock<Bytes>,
    /// Cached lines in other views, by view and second.
    views: Mutex<Vec<(View, i64, Bytes)>>,
}

/// The number of lines in other views that an event caches.
const MAX_CACHED_VIEWS: usize = 4;

impl Event {
    pub(crate) fn new(
        table: TableId,
        revision: u64,
        kind: EventKind,
        key: Key,
        object: Stored,
        old: Option<Stored>,
        epoch: u64,
    ) -> Self {
        Self {
            table,
            revision,
            kind,
            key,
            object,
            old,
            epoch,
            line: OnceLock::new(),
            views: Mutex::default(),
        }
    }

    /// The change from the state before this event to the state after a later event of the same object; `None` if the
    /// object existed neither before nor after.
    pub(crate) fn merged_with(&self, last: &Self) -> Option<Self> {
        let (old, removed) = (self.old.clone(), last.kind == EventKind::Deleted);
        let kind = match (&old, removed) {
            (None, true) => return None,
            (None, false) => EventKind::Added,
            (Some(_), true) => EventKind::Deleted,
            (Some(_), false) => EventKind::Modified,
        };
        let Self { table, key, .. } = self;
        Some(Self::new(*table, last.revision, kind, key.clone(), last.object.clone(), old, last.epoch))
    }

    /// The line of a watch stream, encoded once and shared by all watchers.
    pub(crate) fn line(&self) -> Bytes {
        self.line.get_or_init(|| watch_line(self.kind.name(), &self.object)).clone()
    }

    /// The line in another view, encoded once and shared by all watchers of the same second, because the ages in a Table
    /// change every second.
    pub(crate) fn line_in(&self, view: View, second: i64, encode: impl FnOnce() -> Bytes) -> Bytes {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let is_cached = |cached: &&(View, i64, Bytes)| cached.0 == view && cached.1 == second;
        if let Some((.., line)) = views.iter().find(is_cached) {
            return line.clone();
        }
        let line = encode();
        views.retain(|(cached_view, ..)| *cached_view != view);
        if views.len() >= MAX_CACHED_VIEWS {
            views.remove(0);
        }
        views.push((view, second, line.clone()));
        line
    }

    /// The object as text, if the line was encoded.
    pub(crate) fn object_text(&self) -> Option<Bytes> {
        let line = self.line.get()?;
        Some(line.slice(line_head(self.kind.name()).len()..line.len() - TAIL.len()))
    }
}

/// The text before the object in a line.
fn line_head(kind: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":")
}

/// The text after the object in a line.
const TAIL: &[u8] = b"}\n";

/// Encodes the line of an error, given its Status.
pub(crate) fn error_line(status: &Value) -> Bytes {
    watch_line("ERROR", &GoOrder::object(status))
}

/// Encodes a line of a watch stream.
pub(crate) fn watch_line(kind: &str, object: &impl Serialize) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    out.extend(line_head(kind).as_bytes());
    // Writing JSON to memory cannot fail; an error would leave a line that clients reject.
    let _ = serde_json::to_writer(&mut out, object);
    out.extend(TAIL);
    gotext::escape_html_bytes(out).into()
}
