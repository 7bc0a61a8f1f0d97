//! One change in the history, with its encoded watch line.

use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::Serialize;
use windtunnel_core::Key;

use super::{Stored, TableId};
use crate::view::View;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It was created.
    Added,
    /// It was written.
    Modified,
    /// It was removed.
    Deleted,
    /// It was not touched, but reads differently since its CustomResourceDefinition was replaced.
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

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    /// Where the object is stored.
    pub(crate) table: TableId,
    /// The store's revision after it.
    pub revision: u64,
    /// What happened.
    pub kind: EventKind,
    /// To which object.
    pub key: Key,
    /// The object after it; for a removal, its last state with the revision of the removal.
    pub object: Stored,
    /// The object before it, as it was read then.
    pub old: Option<Stored>,
    /// Which schema the object was read by; a later one means that it must be read anew.
    pub(crate) epoch: u64,
    line: OnceLock<Bytes>,
    /// Lines in other views, the last ones asked for.
    views: Mutex<Vec<(View, i64, Bytes)>>,
}

/// How many lines in other views an event keeps.
const VIEWS: usize = 4;

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

    /// The line of a watch stream, made once and shared by all watchers.
    pub(crate) fn line(&self) -> Bytes {
        self.line.get_or_init(|| line(self.kind.name(), &self.object)).clone()
    }

    /// The line in another view, made once and shared by all watchers who have it at the same moment: what a Table says
    /// of ages is true for a second.
    pub(crate) fn line_in(&self, view: View, second: i64, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., line)) = views.iter().find(|(of, at, _)| *of == view && *at == second) {
            return line.clone();
        }
        let line = make();
        views.retain(|(of, ..)| *of != view);
        if views.len() >= VIEWS {
            views.remove(0);
        }
        views.push((view, second, line.clone()));
        line
    }

    /// The object as text, if the line was made.
    pub(crate) fn object_text(&self) -> Option<Bytes> {
        let line = self.line.get()?;
        Some(line.slice(head(self.kind.name()).len()..line.len() - TAIL.len()))
    }
}

/// What stands before the object of a line, and after it.
fn head(kind: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":")
}
const TAIL: &[u8] = b"}\n";

/// One line of a watch stream.
pub(crate) fn line(kind: &str, object: &impl Serialize) -> Bytes {
    let mut out = BytesMut::with_capacity(1024).writer();
    // Writing JSON to memory cannot fail; an error would leave a line that clients refuse.
    let _ = std::io::Write::write_all(&mut out, head(kind).as_bytes());
    let _ = serde_json::to_writer(&mut out, object);
    let _ = std::io::Write::write_all(&mut out, TAIL);
    out.into_inner().freeze()
}
