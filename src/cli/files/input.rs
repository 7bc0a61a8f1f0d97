//! Opens and unpacks input: only regular files, and no more of a compressed one than the limit allows.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use windtunnel_core::bounded::Limits;
use windtunnel_core::text::counted;

/// The flag that changes the limit.
const FLAG: &str = "--unpack-limit";

/// Bytes that compressed input may have when unpacked, unless the flag says another number.
pub(in crate::cli) const UNPACK_LIMIT: u64 = 2 << 30;

/// Bytes that one file of compressed or other input may have, if the limit for all is the default.
const FILE_LIMIT: u64 = 256 << 20;

/// The largest number of members of an archive.
const MEMBERS: usize = 1_000_000;

/// How much more an archive may contain besides the files that are read, such as logs.
const PASSED_OVER: u64 = 64;

static LIMIT: AtomicU64 = AtomicU64::new(UNPACK_LIMIT);

/// Sets the number of bytes that compressed input may have when unpacked.
pub(in crate::cli) fn set_unpack_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Returns the limit for one file.
fn file_limit(limit: u64) -> u64 {
    (limit / (UNPACK_LIMIT / FILE_LIMIT)).max(limit.min(FILE_LIMIT))
}

/// Returns the limits of the values in all files of a dump. The flag raises them in proportion.
pub(in crate::cli) fn limits_of_values() -> Limits {
    let factor = usize::try_from(LIMIT.load(Ordering::Relaxed).div_ceil(UNPACK_LIMIT)).unwrap_or(usize::MAX);
    let Limits { values, documents, bytes } = Limits::default();
    let [values, documents, bytes] =
        [values, documents, bytes].map(|limit| limit.saturating_mul(factor.max(1)));
    Limits { values, documents, bytes }
}

/// Adds to the description of an exceeded limit how to raise it.
pub(in crate::cli) fn with_advice(exceeded: &str) -> String {
    format!("{exceeded}; {}", advice(LIMIT.load(Ordering::Relaxed)))
}

/// Checks the size of a file of a dump that is not compressed.
///
/// # Errors
/// It is too large.
pub(in crate::cli) fn check_size(path: &Path) -> io::Result<()> {
    let limit = LIMIT.load(Ordering::Relaxed);
    let is_too_large = fs::metadata(path).is_ok_and(|metadata| metadata.len() > file_limit(limit));
    if is_too_large { Err(file_exceeded(limit)) } else { Ok(()) }
}

/// Opens a file.
///
/// # Errors
/// As [`check`], or the file cannot be opened.
pub(in crate::cli) fn open(path: &Path) -> io::Result<File> {
    check(path)?;
    File::open(path)
}

/// Checks a file that a library is going to open, and remembers it.
///
/// # Errors
/// It is no regular file: a device or a pipe may have no end.
pub(in crate::cli) fn check(path: &Path) -> io::Result<()> {
    super::read_files::remember(path);
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let message =
        format!("expected a regular file, found {}; write its content into a file first", name_of(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Returns the content of a file.
///
/// # Errors
/// As [`open`].
pub(in crate::cli) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kinds = [
            (kind.is_fifo(), "a pipe"),
            (kind.is_socket(), "a socket"),
            (kind.is_char_device() || kind.is_block_device(), "a device"),
        ];
        if let Some((_, name)) = kinds.into_iter().find(|(is, _)| *is) {
            return name;
        }
    }
    if kind.is_dir() { "a folder" } else { "something else" }
}

/// The rest of the limits while something is unpacked.
#[derive(Debug)]
pub(in crate::cli) struct Allowance {
    limit: u64,
    /// Bytes that may still be kept.
    kept: u64,
    members: usize,
}

impl Allowance {
    /// The limits of one input.
    pub(in crate::cli) fn new() -> Self {
        Self::of(LIMIT.load(Ordering::Relaxed))
    }

    fn of(limit: u64) -> Self {
        Self { limit, kept: limit, members: MEMBERS }
    }

    /// Reads to the end. With the right `size`, reads each byte to its final place; no size is trusted.
    ///
    /// # Errors
    /// The content is larger than the limit for one file, or than what is left of the limit for all.
    pub(in crate::cli) fn keep(&mut self, content: impl Read, size: u64) -> io::Result<Vec<u8>> {
        let most = self.kept.min(file_limit(self.limit));
        let mut bytes = Vec::new();
        // One more, so that the end is found without more space.
        bytes.reserve_exact(usize::try_from(size.min(most) + 1).unwrap_or_default());
        let count = content.take(most + 1).read_to_end(&mut bytes)? as u64;
        match self.kept.checked_sub(count) {
            None => Err(exceeded(self.limit)),
            Some(_) if count > most => Err(file_exceeded(self.limit)),
            Some(kept) => {
                self.kept = kept;
                Ok(bytes)
            }
        }
    }

    /// Counts a member of an archive.
    ///
    /// # Errors
    /// There are too many.
    pub(in crate::cli) fn member(&mut self) -> io::Result<()> {
        self.members = self.members.checked_sub(1).ok_or_else(|| {
            io::Error::other(LimitExceeded(format!(
                "the archive has more than {}",
                counted(MEMBERS, "member")
            )))
        })?;
        Ok(())
    }

    /// A reader of a whole archive: it fails where the archive is much larger than what may be kept of it.
    pub(in crate::cli) fn archive<R: Read>(&self, content: R) -> impl Read + use<R> {
        Bounded { left: self.limit.saturating_mul(PASSED_OVER), limit: self.limit, content }
    }
}

/// A reader that fails beyond a number of bytes.
struct Bounded<R> {
    content: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| exceeded(self.limit))?;
        Ok(count)
    }
}

fn exceeded(limit: u64) -> io::Error {
    io::Error::other(LimitExceeded(format!("this is too large when unpacked; {}", advice(limit))))
}

fn file_exceeded(limit: u64) -> io::Error {
    let most = file_limit(limit);
    io::Error::other(LimitExceeded(format!("this file is larger than {most} bytes; {}", advice(limit))))
}

/// The description of an exceeded limit.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct LimitExceeded(String);

/// Returns whether an error is an exceeded limit, and not a damaged file.
pub(in crate::cli) fn is_limit(error: &io::Error) -> bool {
    let mut source = error.get_ref().map(|error| error as &(dyn std::error::Error + 'static));
    while let Some(error) = source {
        let inner = error.downcast_ref::<io::Error>();
        if error.is::<LimitExceeded>() || inner.is_some_and(is_limit) {
            return true;
        }
        source = error.source();
    }
    false
}

fn advice(limit: u64) -> String {
    format!("if you trust it, raise the limit of {limit} bytes with {FLAG} BYTES")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_beyond_the_limit_is_refused() {
        let mut allowance = Allowance::of(10);
        assert_eq!(allowance.keep(&b"123456"[..], 6).unwrap(), b"123456");
        let error = allowance.keep(&b"12345"[..], u64::MAX).unwrap_err().to_string();
        assert!(error.contains("limit of 10 bytes") && error.contains(FLAG), "{error}");
        let read = |size: usize| {
            io::copy(&mut Allowance::of(10).archive(io::repeat(0).take(size as u64)), &mut io::sink())
        };
        assert_eq!(read(640).unwrap(), 640);
        assert!(read(641).is_err());
    }

    #[test]
    fn one_file_has_an_eighth_of_a_large_limit() {
        assert_eq!(file_limit(10), 10);
        assert_eq!(file_limit(UNPACK_LIMIT), FILE_LIMIT);
        assert_eq!(file_limit(2 * UNPACK_LIMIT), 2 * FILE_LIMIT);
        assert_eq!(file_limit(FILE_LIMIT + 8), FILE_LIMIT);
        let error = Allowance::new().keep(io::repeat(0), 0).unwrap_err().to_string();
        assert!(error.starts_with("this file is larger than 268435456 bytes; "), "{error}");
    }

    #[test]
    fn content_of_a_known_size_is_read_without_more_space() {
        let bytes = Allowance::of(1 << 20).keep(io::repeat(7).take(100_000), 100_000).unwrap();
        assert_eq!((bytes.len(), bytes.capacity()), (100_000, 100_001));
        let bytes = Allowance::of(1 << 20).keep(io::repeat(7).take(100_000), 3).unwrap();
        assert_eq!(bytes.len(), 100_000);
    }

    #[test]
    fn endless_files_are_refused() {
        let error = open(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("expected a regular file, found a device"), "{error}");
        assert!(open(Path::new("/")).unwrap_err().to_string().contains("found a folder"));
    }
}
