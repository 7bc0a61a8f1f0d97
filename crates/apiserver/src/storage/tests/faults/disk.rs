//! A disk in memory that tracks synced data and fails on request.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// Number of bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// When and how a disk fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// Index of the first operation that fails, counted from now.
    pub(super) from: usize,
    /// The OS error number.
    pub(super) error: i32,
    /// Whether all later writes fail as well, until the disk is healed.
    pub(super) lasting: bool,
}

/// A disk. Clones share its content.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The content that processes read.
    cached: Vec<u8>,
    /// The content that survives a crash of the machine.
    synced: Vec<u8>,
    operations: usize,
    fault: Option<Fault>,
    failed: bool,
}

impl Disk {
    fn holding(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { cached: bytes.clone(), synced: bytes, ..State::default() })))
    }

    pub(super) fn shared(self) -> Arc<dyn StorageBackend> {
        Arc::new(self)
    }

    /// A disk with the current content of this one.
    pub(super) fn as_cached(&self) -> Self {
        Self::holding(self.0.lock().unwrap().cached.clone())
    }

    /// A disk with the content of this one after a crash of the machine.
    pub(super) fn as_synced(&self) -> Self {
        Self::holding(self.0.lock().unwrap().synced.clone())
    }

    pub(super) fn fail(&self, fault: Fault) {
        let mut state = self.0.lock().unwrap();
        (state.operations, state.fault) = (0, Some(fault));
    }

    pub(super) fn heal(&self) {
        self.0.lock().unwrap().fault = None;
    }

    /// Overwrites everything except the header.
    pub(super) fn garble(&self) {
        self.0.lock().unwrap().cached[4096..].fill(0xff);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.0.lock().unwrap().failed
    }
}

impl State {
    /// Counts an operation, which may fail.
    fn operate(&mut self, writes: bool) -> io::Result<()> {
        let number = self.operations;
        self.operations += 1;
        let fails = self.fault.filter(|fault| {
            if fault.lasting { writes && number >= fault.from } else { number == fault.from }
        });
        match fails {
            Some(fault) => {
                self.failed = true;
                Err(io::Error::from_raw_os_error(fault.error))
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.0.lock().unwrap();
        state.operate(false)?;
        Ok(state.cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.operate(false)?;
        let start = usize::try_from(offset).unwrap();
        let found = state.cached.get(start..start + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.operate(true)?;
        state.cached.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.operate(true)?;
        let State { synced, cached, .. } = &mut *state;
        synced.clone_from(cached);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let outcome = state.operate(true);
        // A failed write may be partial, but sectors are written atomically.
        let done = if outcome.is_ok() { data.len() } else { data.len() / 2 / SECTOR * SECTOR };
        let start = usize::try_from(offset).unwrap();
        state.cached[start..start + done].copy_from_slice(&data[..done]);
        outcome
    }
}
