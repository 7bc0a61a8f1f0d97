//! A file that grows by whole lines, also when the disk becomes full.

use std::fs::File;
use std::io::{self, Write};

/// The number of bytes that are collected before they are written.
const BUFFERED: usize = 64 << 10;

/// A new file of lines. Each write must consist of whole lines.
#[derive(Debug)]
pub(super) struct LineFile {
    file: File,
    /// The length of the file.
    length: u64,
    /// Lines to write.
    lines: Vec<u8>,
}

impl LineFile {
    pub(super) fn new(file: File) -> Self {
        Self { file, length: 0, lines: Vec::new() }
    }

    /// Removes the part of a line that the disk still had room for, so that readers find complete lines only. A pipe or a device
    /// has no length to change.
    fn remove_incomplete_line(&mut self) {
        let end = self.file.metadata().map_or(self.length, |metadata| metadata.len());
        let written = usize::try_from(end.saturating_sub(self.length)).unwrap_or(usize::MAX);
        let written = self.lines.get(..written).unwrap_or(&self.lines);
        let complete = written.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.length += complete as u64;
        let _ = self.file.set_len(self.length);
    }
}

impl Write for LineFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.lines.extend_from_slice(lines);
        if self.lines.len() >= BUFFERED {
            self.flush()?;
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.lines);
        match written {
            Ok(()) => self.length += self.lines.len() as u64,
            Err(_) => self.remove_incomplete_line(),
        }
        self.lines.clear();
        written
    }
}
