//! A disk whose changes stay in memory, to inspect a database without changing it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// Size of the pieces that are copied, in bytes.
const PIECE: u64 = 4096;

/// The underlying disk, and everything written over it.
#[derive(Debug)]
pub(super) struct Overlay {
    disk: Arc<dyn StorageBackend>,
    over: Mutex<Over>,
}

#[derive(Debug)]
struct Over {
    /// Number of bytes of the underlying disk that are still visible.
    beneath: u64,
    len: u64,
    pieces: BTreeMap<u64, Vec<u8>>,
}

impl Overlay {
    pub(super) fn over(disk: Arc<dyn StorageBackend>) -> io::Result<Self> {
        let len = disk.len()?;
        Ok(Self { disk, over: Mutex::new(Over { beneath: len, len, pieces: BTreeMap::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, Over> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current content of a piece; zeros if it was never written.
    fn piece(&self, over: &Over, number: u64) -> io::Result<Vec<u8>> {
        if let Some(piece) = over.pieces.get(&number) {
            return Ok(piece.clone());
        }
        let mut piece = vec![0; usize::try_from(PIECE).map_err(io::Error::other)?];
        let start = number * PIECE;
        let on_disk = over.beneath.saturating_sub(start).min(PIECE);
        let on_disk = usize::try_from(on_disk).map_err(io::Error::other)?;
        if on_disk > 0 {
            self.disk.read(start, &mut piece[..on_disk])?;
        }
        Ok(piece)
    }
}

/// Splits a range at the borders of pieces: the index of the piece, the offset in it, and the length.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let (mut at, end) = (offset, offset + len as u64);
    std::iter::from_fn(move || {
        let within = at % PIECE;
        let part = (PIECE - within).min(end.saturating_sub(at));
        let found = (part > 0).then_some((at / PIECE, within.try_into().ok()?, part.try_into().ok()?));
        at += part;
        found
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let over = self.lock();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > over.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut rest = out;
        for (number, from, len) in parts(offset, rest.len()) {
            let (part, after) = rest.split_at_mut(len);
            part.copy_from_slice(&self.piece(&over, number)?[from..from + len]);
            rest = after;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut over = self.lock();
        if len < over.len {
            // If the file is truncated inside a piece and grows again, the rest of the piece reads as zeros.
            let mut last = self.piece(&over, len / PIECE)?;
            last[usize::try_from(len % PIECE).map_err(io::Error::other)?..].fill(0);
            over.pieces.split_off(&(len / PIECE));
            over.pieces.insert(len / PIECE, last);
            over.beneath = over.beneath.min(len);
        }
        over.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut over = self.lock();
        let mut rest = data;
        for (number, from, len) in parts(offset, data.len()) {
            let (part, after) = rest.split_at(len);
            let mut piece = self.piece(&over, number)?;
            piece[from..from + len].copy_from_slice(part);
            over.pieces.insert(number, piece);
            rest = after;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    fn read(disk: &dyn StorageBackend, offset: u64, len: usize) -> Vec<u8> {
        let mut out = vec![9; len];
        disk.read(offset, &mut out).unwrap();
        out
    }

    #[test]
    fn writes_are_visible_in_the_overlay_and_not_on_the_disk() {
        let disk = InMemoryBackend::new();
        disk.set_len(3 * PIECE).unwrap();
        disk.write(0, &[1; 3 * 4096]).unwrap();
        let disk: Arc<dyn StorageBackend> = Arc::new(disk);
        let overlay = Overlay::over(Arc::clone(&disk)).unwrap();
        overlay.write(PIECE - 2, &[2; 4]).unwrap();
        assert_eq!(read(&overlay, PIECE - 3, 6), [1, 2, 2, 2, 2, 1]);
        assert_eq!(read(&*disk, PIECE - 3, 6), [1; 6]);
        overlay.set_len(PIECE + 1).unwrap();
        assert!(overlay.read(PIECE, &mut [0; 2]).is_err());
        overlay.set_len(2 * PIECE).unwrap();
        assert_eq!(read(&overlay, PIECE, 4), [2, 0, 0, 0]);
        assert_eq!(disk.len().unwrap(), 3 * PIECE);
    }
}
