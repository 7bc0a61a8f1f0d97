//! A disk in memory that tracks synced data and fails on request, to test what survives.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// Number of bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// The operations that a fault affects. Writes include syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Reads, writes and syncs.
    All,
    /// Writes and syncs.
    Writes,
    /// Syncs: data that a failed sync leaves is lost in a crash of the machine.
    Syncs,
}

/// When and how a disk fails.
#[derive(Debug, Clone, Copy)]
pub struct DiskFault {
    /// Index of the first one of `operations` that fails, counted from the call of [`Disk::fail`].
    pub from: usize,
    /// The OS error number.
    pub error: i32,
    /// The operations that fail.
    pub operations: Operations,
    /// Whether all later ones of these operations fail as well, until the disk is healed.
    pub lasting: bool,
}

/// A disk in memory. Clones share its content.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The content that processes read.
    cached: Vec<u8>,
    /// The content that survives a crash of the machine.
    synced: Vec<u8>,
    /// The ranges in which the two may differ.
    dirty: Vec<Range<usize>>,
    operations: usize,
    fault: Option<DiskFault>,
    failed: bool,
}

impl Disk {
    fn holding(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { cached: bytes.clone(), synced: bytes, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn shared(self) -> Arc<dyn StorageBackend> {
        Arc::new(self)
    }

    /// Returns a healthy disk with the current content of this one, as a process finds it that starts after a
    /// crash of another process.
    #[must_use]
    pub fn as_cached(&self) -> Self {
        Self::holding(self.state().cached.clone())
    }

    /// Returns a healthy disk with the content of this one after a crash of the machine.
    #[must_use]
    pub fn as_synced(&self) -> Self {
        Self::holding(self.state().synced.clone())
    }

    /// Lets operations fail, and counts them from now on.
    pub fn fail(&self, fault: DiskFault) {
        let mut state = self.state();
        (state.operations, state.fault) = (0, Some(fault));
    }

    /// Ends the fault.
    pub fn heal(&self) {
        self.state().fault = None;
    }

    /// Whether an operation failed.
    pub fn has_failed(&self) -> bool {
        self.state().failed
    }

    /// The number of operations that the last fault affects, since it was set; of all operations without one.
    pub fn operations(&self) -> usize {
        self.state().operations
    }
}

impl Operations {
    /// Whether these operations contain another set.
    fn contain(self, other: Self) -> bool {
        match self {
            Self::All => true,
            Self::Writes => other != Self::All,
            Self::Syncs => other == Self::Syncs,
        }
    }
}

impl State {
    /// Counts an operation, which may fail. `kind` is the smallest set that has the operation.
    fn operate(&mut self, kind: Operations) -> io::Result<()> {
        if self.fault.is_some_and(|fault| !fault.operations.contain(kind)) {
            return Ok(());
        }
        let number = self.operations;
        self.operations += 1;
        let fails = |fault: &DiskFault| {
            if fault.lasting { number >= fault.from } else { number == fault.from }
        };
        let Some(fault) = self.fault.filter(fails) else { return Ok(()) };
        self.failed = true;
        Err(io::Error::from_raw_os_error(fault.error))
    }
}

/// An offset of the disk in memory.
fn index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof.into())
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.state();
        state.operate(Operations::All)?;
        Ok(state.cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        state.operate(Operations::All)?;
        let start = index(offset)?;
        let found = state.cached.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.operate(Operations::Writes)?;
        let (before, len) = (state.cached.len(), index(len)?);
        state.cached.resize(len, 0);
        if len > before {
            state.dirty.push(before..len);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.operate(Operations::Syncs)?;
        let State { synced, cached, dirty, .. } = &mut *state;
        synced.resize(cached.len(), 0);
        for range in dirty.drain(..) {
            let range = range.start.min(cached.len())..range.end.min(cached.len());
            synced[range.clone()].copy_from_slice(&cached[range]);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let outcome = state.operate(Operations::Writes);
        // A failed write may be partial, but sectors are written atomically.
        let done = if outcome.is_ok() { data.len() } else { data.len() / 2 / SECTOR * SECTOR };
        let start = index(offset)?;
        let range = start..start.saturating_add(done);
        let target = state.cached.get_mut(range.clone()).ok_or(io::ErrorKind::UnexpectedEof)?;
        target.copy_from_slice(&data[..done]);
        state.dirty.push(range);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(from: usize, operations: Operations, lasting: bool) -> DiskFault {
        DiskFault { from, error: 5, operations, lasting }
    }

    /// A disk of 4 sectors whose first byte is synced as 1.
    fn disk() -> Disk {
        let disk = Disk::default();
        disk.set_len(2048).unwrap();
        disk.write(0, &[1]).unwrap();
        disk.sync_data().unwrap();
        disk
    }

    fn first(disk: &Disk) -> u8 {
        let mut byte = [0];
        disk.read(0, &mut byte).unwrap();
        byte[0]
    }

    #[test]
    fn a_crash_of_the_machine_reverts_writes_that_are_not_synced() {
        let disk = disk();
        disk.write(0, &[2]).unwrap();
        assert_eq!((first(&disk.as_cached()), first(&disk.as_synced())), (2, 1));
        disk.fail(fault(0, Operations::Syncs, false));
        disk.write(0, &[3]).unwrap();
        assert!(disk.sync_data().is_err() && disk.has_failed());
        assert_eq!((first(&disk.as_cached()), first(&disk.as_synced())), (3, 1));
        disk.sync_data().unwrap();
        assert_eq!(first(&disk.as_synced()), 3);
        assert_eq!(disk.operations(), 2);
    }

    #[test]
    fn a_lasting_fault_of_writes_leaves_reads_and_ends_when_the_disk_is_healed() {
        let disk = disk();
        disk.fail(fault(0, Operations::Writes, true));
        assert_eq!((first(&disk), first(&disk)), (1, 1));
        assert!(disk.write(0, &[2]).is_err() && disk.set_len(1).is_err() && disk.sync_data().is_err());
        disk.heal();
        disk.write(0, &[2]).unwrap();
        disk.fail(fault(0, Operations::All, false));
        assert!(disk.len().is_err());
        assert_eq!(disk.len().unwrap(), 2048);
    }
}
