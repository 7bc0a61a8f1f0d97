//! Writes the record of a live cluster: first its initial objects, then every change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_core::clock::{Clock, Time, after};
use windtunnel_core::{Key, Object, Resource};

use super::line_file::LineFile;
use super::watching::WatchUpdate;
use crate::cli::args::RecordArgs;
use crate::cli::output::Shown as _;
use crate::cli::{Exit, files, print_notice, print_output};
use crate::record::{Entry, Event, Header, INSTALLER, WriteEvent, Writer};

/// The time of the initial objects before the start of the record.
const INITIAL_OFFSET: SignedDuration = SignedDuration::from_millis(1);

pub(super) struct Recorder<'a> {
    args: &'a RecordArgs,
    path: &'a Path,
    /// The file, until all kinds have been listed.
    file: Option<File>,
    writer: Option<Writer<LineFile>>,
    minor: Option<u32>,
    /// The clock of the cluster.
    clock: Arc<dyn Clock>,
    /// Kinds whose first list is not complete.
    awaited: BTreeSet<String>,
    /// The objects of the first lists.
    found: BTreeMap<Key, (Resource, Object)>,
    /// The objects of the current list of each kind.
    listed: BTreeMap<Resource, BTreeSet<Key>>,
    failed: BTreeSet<String>,
    changes: usize,
}

impl<'a> Recorder<'a> {
    /// Creates a record of the kinds `awaited`, with the times of `clock`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn new(
        args: &'a RecordArgs,
        minor: Option<u32>,
        awaited: BTreeSet<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let path = args.output.as_path();
        let file = Some(files::create_private(path)?);
        let (found, listed, failed) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Ok(Self { args, path, file, writer: None, minor, clock, awaited, found, listed, failed, changes: 0 })
    }

    /// Processes an observation.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(super) fn take(&mut self, update: WatchUpdate) -> Result<(), String> {
        match update {
            WatchUpdate::ListStarted(kind) => {
                self.listed.insert(kind, BTreeSet::new());
            }
            WatchUpdate::Present(kind, object, by) => {
                let key = kind.key_of(&object);
                if let Some(listed) = self.listed.get_mut(&kind) {
                    listed.insert(key.clone());
                }
                self.add_object(kind, key, Object::new(object), by)?;
            }
            WatchUpdate::Deleted(kind, object) => self.remove_object(&kind, &kind.key_of(&object))?,
            WatchUpdate::ListCompleted(kind) => {
                let listed = self.listed.remove(&kind).unwrap_or_default();
                self.remove_unlisted(&kind, &listed)?;
                self.note_listed(&kind)?;
            }
            WatchUpdate::Failed(kind, why) => {
                if self.failed.insert(name(&kind)) {
                    print_notice(&format!("cannot watch {}, retrying: {why}", name(&kind)));
                }
                self.note_listed(&kind)?;
            }
        }
        if let Some(writer) = &mut self.writer {
            writer.flush().map_err(|error| write_error(self.path, &error))?;
        }
        Ok(())
    }

    /// Notes that a kind is complete or failed; after the last one, the record starts.
    fn note_listed(&mut self, kind: &Resource) -> Result<(), String> {
        self.awaited.remove(&name(kind));
        if self.awaited.is_empty() { self.begin() } else { Ok(()) }
    }

    fn begin(&mut self) -> Result<(), String> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let epoch = self.clock.now();
        let header = Header {
            scenario: self.args.name.clone(),
            ids: Vec::new(),
            seed: 0,
            epoch,
            windtunnel: env!("CARGO_PKG_VERSION").to_owned(),
            ..Header::default()
        };
        let writer = Writer::begin(LineFile::new(file), &header);
        self.writer = Some(writer.map_err(|error| write_error(self.path, &error))?);
        let before = after(epoch, -INITIAL_OFFSET);
        if let Some(minor) = self.minor {
            self.add(before, Event::Kubernetes { minor })?;
        }
        let found = std::mem::take(&mut self.found);
        let count = found.len();
        for (key, (kind, object)) in found {
            let write = write(&kind, key, INSTALLER.to_owned(), None, Some(object));
            self.add(before, Event::Write(Box::new(write)))?;
        }
        print_output(&format!("recording: {count} objects found\n"));
        Ok(())
    }

    fn add_object(&mut self, kind: Resource, key: Key, object: Object, by: String) -> Result<(), String> {
        let Some(writer) = &self.writer else {
            self.found.insert(key, (kind, object));
            return Ok(());
        };
        let before = writer.states().get(&key).cloned();
        if before.as_ref().is_some_and(|before| before.resource_version() == object.resource_version()) {
            return Ok(());
        }
        self.changes += 1;
        let write = write(&kind, key, by, before, Some(object));
        self.add(self.clock.now(), Event::Write(Box::new(write)))
    }

    fn remove_object(&mut self, kind: &Resource, key: &Key) -> Result<(), String> {
        let Some(writer) = &self.writer else {
            self.found.remove(key);
            return Ok(());
        };
        let Some(before) = writer.states().get(key).cloned() else { return Ok(()) };
        self.changes += 1;
        let write = write(kind, key.clone(), "unknown".to_owned(), Some(before), None);
        self.add(self.clock.now(), Event::Write(Box::new(write)))
    }

    /// Records the deletion of objects that disappeared while their watch was interrupted.
    fn remove_unlisted(&mut self, kind: &Resource, listed: &BTreeSet<Key>) -> Result<(), String> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let deleted = writer.states().keys().filter(|key| key.is_kind(kind) && !listed.contains(*key));
        for key in deleted.cloned().collect::<Vec<_>>() {
            self.remove_object(kind, &key)?;
        }
        Ok(())
    }

    fn add(&mut self, at: Time, event: Event) -> Result<(), String> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.add(&Entry { at, event }).map_err(|error| write_error(self.path, &error))
    }

    /// Ends the record.
    ///
    /// # Errors
    /// The record never started.
    pub(super) fn end(mut self) -> Result<Exit, String> {
        if self.writer.is_none() {
            let awaited: Vec<String> = self.awaited.into_iter().collect();
            return Err(format!(
                "ended before the first lists were complete: no answer for {}",
                awaited.join(", ")
            ));
        }
        if let Some(writer) = &mut self.writer {
            writer.flush().map_err(|error| write_error(self.path, &error))?;
        }
        print_output(&format!("recorded: {} changes in {}\n", self.changes, self.path.shown()));
        Ok(Exit::Passed)
    }
}

fn write_error(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be written: {error}", path.shown())
}

fn name(kind: &Resource) -> String {
    if kind.group.is_empty() { kind.plural.to_string() } else { format!("{}.{}", kind.plural, kind.group) }
}

fn write(kind: &Resource, key: Key, by: String, before: Option<Object>, after: Option<Object>) -> WriteEvent {
    let (verb, code) = match (&before, &after) {
        (None, _) => ("create", 201),
        (Some(_), Some(_)) => ("update", 200),
        (Some(_), None) => ("delete", 200),
    };
    WriteEvent {
        by,
        process: String::new(),
        verb: verb.to_owned(),
        kind: kind.kind.to_string(),
        key,
        subresource: String::new(),
        code,
        message: String::new(),
        before,
        after,
    }
}
