//! The only place that writes to a path of the user. Replaces a regular file as a whole. Writes in place into standard output, a
//! device, a pipe, the file behind a link, and a file that cannot be replaced.
//!
//! In a world-writable folder, such as the one for temporary files, another user may have created something
//! at that name or at any predictable name. Therefore new files have random names until they are complete,
//! existing files of others are not opened for them, and links of other users are not followed there.

mod draft;
mod existing;
mod links;
#[cfg(unix)]
mod streams;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use self::existing::Existing;
pub(super) use self::links::check_links;

/// The kind of a target.
enum Target {
    /// Nothing.
    Absent,
    /// A regular file, which may be replaced.
    File(Existing),
    /// The file, the pipe or the device that is standard output or standard error of this process.
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems have no such paths"))]
    Stream(File),
    /// A link to another file or to nothing, or another device or pipe.
    Other,
}

/// Writes a text to a path. Other users cannot read a private file.
pub(super) fn write(path: &Path, text: &str, private: bool) -> io::Result<()> {
    open(path, text.as_bytes(), private).map(drop)
}

/// Creates an empty file, to be written incrementally. Other users cannot read a private one.
#[cfg(any(feature = "live", feature = "serve"))]
pub(super) fn create(path: &Path, private: bool) -> io::Result<File> {
    open(path, &[], private)
}

/// Writes the first bytes of a file, and returns it for the others.
fn open(path: &Path, bytes: &[u8], private: bool) -> io::Result<File> {
    let mut file = match inspect(path)? {
        Target::Absent => return draft::publish(path, bytes, private, None),
        Target::File(found) => return replace(path, bytes, private, &found),
        Target::Stream(file) => file,
        Target::Other => in_place(path, private)?,
    };
    make_private(&file, private)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Replaces a file; writes it in place if the system refuses to replace it.
fn replace(path: &Path, bytes: &[u8], private: bool, found: &Existing) -> io::Result<File> {
    match draft::publish(path, bytes, private, Some(found)) {
        Err(rejection) if is_refusal(&rejection) => {
            let mut file = found.open(path)?;
            make_private(&file, private)?;
            file.set_len(0)?;
            file.write_all(bytes)?;
            Ok(file)
        }
        published => published,
    }
}

/// Returns whether the system refuses new files or new names in a folder: for lack of permission, on a read-only disk, or
/// because the file is a mount of its own.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Checks that a path can be written, before work whose result would be lost. Changes nothing, and opens no device and no pipe.
pub(super) fn check(path: &Path) -> io::Result<()> {
    match inspect(path)? {
        Target::Absent => draft::try_beside(path),
        Target::File(found) => match draft::try_beside(path) {
            Ok(()) if found.is_replaceable(path) => Ok(()),
            Err(error) if !is_refusal(&error) => Err(error),
            _ => found.open(path).map(drop),
        },
        Target::Stream(_) => Ok(()),
        Target::Other => check_behind(path),
    }
}

/// As [`check`], for a path to append to. An existing file is not replaced.
pub(super) fn check_append(path: &Path) -> io::Result<()> {
    match inspect(path)? {
        Target::File(_) => options(false).append(true).open(path).map(drop),
        _ => check(path),
    }
}

/// Checks the regular file behind a link. A device or a pipe shows only at the write.
fn check_behind(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(target) if target.is_file() => options(false).open(path).map(drop),
        _ => Ok(()),
    }
}

/// Checks that new files can be created in a folder.
pub(super) fn check_inside(folder: &Path) -> io::Result<()> {
    draft::try_beside(&folder.join("file"))
}

/// Appends a text to a file, or creates it. A file that cannot take all of the text keeps its old content.
pub(super) fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut options = options(false);
    options.append(true);
    match inspect(path)? {
        Target::Stream(mut file) => return file.write_all(text.as_bytes()),
        Target::Other => return options.create(true).open(path)?.write_all(text.as_bytes()),
        Target::Absent | Target::File(_) => {}
    }
    match options.create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => {
            let mut file = created?;
            return file.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)));
        }
    }
    let mut file = options.create_new(false).open(path)?;
    existing::expect_at(path, &file)?;
    let length = file.metadata()?.len();
    file.write_all(text.as_bytes()).inspect_err(|_| drop(file.set_len(length)))
}

/// Copies a program, with its permissions.
#[cfg(feature = "serve")]
pub(super) fn copy(from: &Path, path: &Path) -> io::Result<()> {
    draft::publish_copy(&mut File::open(from)?, path)
}

/// Creates a link, in the place of a file.
#[cfg(all(unix, feature = "serve"))]
pub(super) fn link(to: &Path, path: &Path) -> io::Result<()> {
    draft::publish_link(to, path)
}

/// Creates a folder, unless it exists. The folder above it must exist.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    check_links(folder)?;
    match fs::create_dir(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        created => created,
    }
}

/// Creates a folder and those above it, unless they exist.
#[cfg(feature = "serve")]
pub(super) fn create_folders(folder: &Path) -> io::Result<()> {
    check_links(folder)?;
    fs::create_dir_all(folder)
}

/// Determines the kind of the target, and rejects suspicious links.
fn inspect(path: &Path) -> io::Result<Target> {
    check_links(path)?;
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(Target::Absent) };
    let target = fs::metadata(path).ok();
    if metadata.is_dir() || target.as_ref().is_some_and(Metadata::is_dir) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    #[cfg(unix)]
    if let Some(file) = target.as_ref().and_then(streams::with) {
        return Ok(Target::Stream(file));
    }
    Ok(if metadata.is_file() { Target::File(Existing::new(metadata)) } else { Target::Other })
}

/// Opens a link, a device or a pipe. Truncates a file behind a link.
fn in_place(path: &Path, private: bool) -> io::Result<File> {
    let existing = fs::metadata(path).ok();
    let is_file = existing.as_ref().is_none_or(Metadata::is_file);
    // A link to nothing leads to a new file.
    options(private).create(existing.is_none()).truncate(is_file).open(path)
}

/// Takes a regular file from other users.
fn make_private(file: &File, private: bool) -> io::Result<()> {
    #[cfg(unix)]
    if private && file.metadata()?.is_file() {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = (file, private);
    Ok(())
}

fn options(private: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    options
}
