//! Writes a record line by line during a run: the output is a valid record at any time.

use std::collections::BTreeMap;
use std::io;

use windtunnel_core::{Key, Object};

use super::lines::{push_entry, push_first_header};
use super::{Entry, Event, Header};

/// Writes a growing record.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    /// The last state of every object.
    states: BTreeMap<Key, Object>,
}

impl<W: io::Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn begin(mut to: W, header: &Header) -> io::Result<Self> {
        let mut line = String::new();
        push_first_header(&mut line, header);
        to.write_all(line.as_bytes())?;
        Ok(Self { to, states: BTreeMap::new() })
    }

    /// Writes an entry.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = String::new();
        let Event::Write(write) = &entry.event else {
            push_entry(&mut line, entry, None);
            return self.to.write_all(line.as_bytes());
        };
        push_entry(&mut line, entry, self.states.get(&write.key));
        match write.state_after() {
            Some(state) => self.states.insert(write.key.clone(), state.clone()),
            None => self.states.remove(&write.key),
        };
        self.to.write_all(line.as_bytes())
    }

    /// Returns the last state of every object.
    pub fn states(&self) -> &BTreeMap<Key, Object> {
        &self.states
    }

    /// Flushes buffered output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
