//! Opens the database file, after checking that it is undamaged.
//!
//! redb does not verify the checksums of a file that it closed itself, and panics on most damage. So the file
//! is first opened in memory, in a way that makes redb check all of it, and only then on disk. Sizes in the
//! header, on which redb cannot be relied, are checked here. A damaged file is left unchanged.

use std::io;
use std::sync::Arc;

use redb::{Database, StorageBackend};
use windtunnel_core::panics;

use super::overlay::Overlay;

/// The reason why a file cannot be opened.
#[derive(Debug)]
pub(super) enum Unopened {
    /// Its content is damaged.
    Damaged(String),
    /// It cannot be read or written at the moment.
    Failed(String),
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match error.kind() {
            // The content of the file is invalid or incomplete.
            InvalidData | InvalidInput | UnexpectedEof => Self::Damaged(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<redb::Error> for Unopened {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => error.into(),
            redb::Error::Corrupted(why) => Self::Damaged(why),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Unopened {
    /// A panic of redb, whose assumptions about the file do not hold.
    pub(super) fn panicked(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        Self::Damaged(line.trim_end_matches([':', '.']).to_owned())
    }
}

/// The header of the file: the magic number, flags, sizes, and two slots for commits.
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
const FLAGS: usize = MAGIC.len();
const SIZES: usize = FLAGS + 3;
const HEAD: usize = 320;
const SLOTS: [usize; 2] = [64, 192];
const SLOT: usize = 128;
/// Offsets within a slot.
const HAS_ROOT: usize = 1;
const ROOT: usize = 8;
const TRANSACTION: usize = 104;
const CHECKSUM: usize = SLOT - 16;

/// Flags.
const PRIMARY: u8 = 1;
const UNCLEAN: u8 = 2;
const TWO_PHASES: u8 = 4;

/// Sizes that redb always uses.
const PAGE: u32 = 4096;
const REGION: u32 = 0x0010_0000;

/// Size of redb's cache during the check, in bytes.
const CACHE: usize = 16 << 20;

/// A disk that outlives its database, and therefore stays locked.
#[derive(Debug)]
struct Lent(Arc<dyn StorageBackend>);

impl StorageBackend for Lent {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Opens the database on a disk; creates it if the disk is empty.
pub(super) fn open(disk: Arc<dyn StorageBackend>) -> Result<Database, Unopened> {
    if is_unfinished(&*disk)? {
        disk.set_len(0)?;
        let created = database(Lent(Arc::clone(&disk)), None);
        if created.is_err() {
            // A partial database would look damaged when it is opened next.
            let _ = disk.set_len(0);
        }
        return created;
    }
    let mut head = Head::read(&*disk)?;
    let chosen = head.choose(&disk)?;
    if chosen != head.primary() {
        head.bytes[FLAGS] ^= PRIMARY;
        disk.write(0, &head.bytes)?;
        disk.sync_data()?;
    }
    database(Lent(disk), None)
}

/// Whether the disk is empty, or the creation of its database was interrupted: redb writes the magic number last. Nothing was
/// ever stored in such a file. One whose magic number is damaged has more.
fn is_unfinished(disk: &dyn StorageBackend) -> io::Result<bool> {
    let len = disk.len()?;
    let mut bytes = [0; HEAD];
    let known = usize::try_from(len).map_or(HEAD, |len| len.min(HEAD));
    disk.read(0, &mut bytes[..known])?;
    let head = Head { bytes };
    if head.bytes[..MAGIC.len()].iter().any(|byte| *byte != 0) {
        return Ok(false);
    }
    if head.bytes.iter().all(|byte| *byte == 0) {
        return is_zero(disk, len);
    }
    let has_root = SLOTS.iter().any(|slot| head.bytes[slot + HAS_ROOT] != 0);
    Ok(!has_root && head.number(SIZES) == PAGE && head.number(SIZES + 8) == REGION)
}

/// Whether all bytes of a disk are zero.
fn is_zero(disk: &dyn StorageBackend, len: u64) -> io::Result<bool> {
    const PART: usize = 64 << 10;
    let mut part = vec![0; PART];
    let mut offset = 0;
    while offset < len {
        let size = usize::try_from(len - offset).map_or(PART, |left| left.min(PART));
        disk.read(offset, &mut part[..size])?;
        if part[..size].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += size as u64;
    }
    Ok(true)
}

/// Opens or creates a database, and converts panics of redb to errors.
fn database(disk: impl StorageBackend, cache: Option<usize>) -> Result<Database, Unopened> {
    let opened = panics::catch_panic(|| {
        let mut builder = Database::builder();
        if let Some(bytes) = cache {
            builder.set_cache_size(bytes);
        }
        builder.create_with_backend(disk)
    });
    match opened {
        Ok(opened) => opened.map_err(|error| redb::Error::from(error).into()),
        Err(panic) => Err(Unopened::panicked(&panic)),
    }
}

/// The header of a file.
struct Head {
    bytes: [u8; HEAD],
}

impl Head {
    fn read(disk: &dyn StorageBackend) -> Result<Self, Unopened> {
        let damaged = |why: String| Err(Unopened::Damaged(why));
        let len = disk.len()?;
        if len < HEAD as u64 {
            return damaged(format!("it has {len} bytes, fewer than its header"));
        }
        let mut bytes = [0; HEAD];
        disk.read(0, &mut bytes)?;
        let head = Self { bytes };
        if !head.bytes.starts_with(MAGIC) {
            return damaged("it is not a windtunnel database: its first bytes are wrong".to_owned());
        }
        let [page, header, region, full, rest] = [0, 4, 8, 12, 16].map(|at| head.number(SIZES + at));
        if page != PAGE || header != 0 || region != REGION {
            return damaged("its header has invalid page sizes".to_owned());
        }
        let pages = 1 + u64::from(full) * u64::from(region) + u64::from(rest);
        let expected = pages * u64::from(page);
        if len < expected {
            return damaged(format!("it has {len} bytes, but its header says {expected}: it was truncated"));
        }
        if !len.is_multiple_of(u64::from(page)) {
            return damaged(format!("it has {len} bytes, which is not a multiple of the page size {page}"));
        }
        Ok(head)
    }

    fn number(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.bytes[at..at + 4]);
        u32::from_le_bytes(bytes)
    }

    /// Index of the slot of the last commit.
    fn primary(&self) -> usize {
        usize::from(self.bytes[FLAGS] & PRIMARY)
    }

    fn transaction(&self, slot: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[SLOTS[slot] + TRANSACTION..][..8]);
        u64::from_le_bytes(bytes)
    }

    /// Chooses the slot to continue from. Commits have two phases, so an incomplete primary slot is damage.
    /// The other slot may be newer, if its commit was interrupted between the phases. Older versions of
    /// windtunnel committed in one phase; an unclean file of theirs may have to return to the previous
    /// commit.
    fn choose(&self, disk: &Arc<dyn StorageBackend>) -> Result<usize, Unopened> {
        let (primary, other) = (self.primary(), 1 - self.primary());
        if self.transaction(other) > self.transaction(primary) && self.check_slot(disk, other).is_ok() {
            return Ok(other);
        }
        match self.check_slot(disk, primary) {
            Ok(()) => Ok(primary),
            Err(Unopened::Damaged(why)) => {
                let flags = self.bytes[FLAGS];
                let may_go_back = flags & UNCLEAN != 0 && flags & TWO_PHASES == 0;
                if may_go_back && self.check_slot(disk, other).is_ok() {
                    return Ok(other);
                }
                Err(Unopened::Damaged(why))
            }
            Err(failed) => Err(failed),
        }
    }

    /// Checks everything in a commit, by making redb believe that the file has no other commit and was not
    /// closed.
    fn check_slot(&self, disk: &Arc<dyn StorageBackend>, slot: usize) -> Result<(), Unopened> {
        let mut bytes = self.bytes;
        let number = if slot == 0 { 0 } else { PRIMARY };
        bytes[FLAGS] = number | UNCLEAN;
        // An invalid root in the other slot keeps redb from falling back to it.
        let other = &mut bytes[SLOTS[1 - slot]..][..SLOT];
        other[HAS_ROOT] = 1;
        other[ROOT..ROOT + 8].fill(0);
        other[ROOT + 8..ROOT + 24].fill(0xff);
        other[CHECKSUM..].fill(0xff);
        let overlay = Overlay::over(Arc::clone(disk))?;
        overlay.write(0, &bytes)?;
        let opened = database(overlay, Some(CACHE))?;
        panics::catch_panic(|| drop(opened)).map_err(|panic| Unopened::panicked(&panic))
    }
}
