//! A record line by line, while it happens: what was written is a record, whenever the writing ends.

use std::collections::BTreeMap;
use std::io;

use windtunnel_core::{Key, Object};

use super::lines::{push_entry, push_header};
use super::{Entry, Event, Header};

/// Writes a record as it grows.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    /// The last state of every object.
    states: BTreeMap<Key, Object>,
}

impl<W: io::Write> Writer<W> {
    /// Begins a record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(mut to: W, header: &Header) -> io::Result<Self> {
        let mut line = String::new();
        push_header(&mut line, header);
        to.write_all(line.as_bytes())?;
        Ok(Self { to, states: BTreeMap::new() })
    }

    /// Adds what happened.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = String::new();
        let Event::Write(write) = &entry.event else {
            push_entry(&mut line, entry, None);
            return self.to.write_all(line.as_bytes());
        };
        push_entry(&mut line, entry, self.states.get(&write.key));
        match write.leaves() {
            Some(state) => self.states.insert(write.key.clone(), state.clone()),
            None => self.states.remove(&write.key),
        };
        self.to.write_all(line.as_bytes())
    }

    /// The last state of every object.
    pub fn states(&self) -> &BTreeMap<Key, Object> {
        &self.states
    }

    /// Hands everything on that is still held back.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
