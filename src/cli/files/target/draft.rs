//! Files that are incomplete: they have an unpredictable name beside their path, and get their own name once they are complete.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::existing::Existing;
use super::options;

/// The number of attempts to find an unused name.
const ATTEMPTS: u32 = 16;

/// Puts a new file with these bytes at a path, and returns it. Unless it is private, it has the owner and the mode of the file
/// that it replaces.
///
/// # Errors
/// The file cannot be created, written or renamed. Nothing is left then.
pub(super) fn publish(
    path: &Path,
    bytes: &[u8],
    private: bool,
    replaced: Option<&Existing>,
) -> io::Result<File> {
    let kept = replaced.filter(|replaced| !private && !replaced.is_of_other_user(path));
    // Other users may open a file before it has its mode.
    let is_closed = private || kept.is_some();
    let (draft, mut file) = at_unused_name(path, |draft| options(is_closed).create_new(true).open(draft))?;
    if let Some(kept) = kept {
        kept.apply_attributes(&file);
    }
    let written = file.write_all(bytes);
    rename(&draft, path, written)?;
    Ok(file)
}

/// Creates and removes a file beside a path.
///
/// # Errors
/// It cannot be created.
pub(super) fn try_beside(path: &Path) -> io::Result<()> {
    let (draft, _) = at_unused_name(path, |draft| options(true).create_new(true).open(draft))?;
    fs::remove_file(draft)
}

/// Puts a copy of a file at a path, with its permissions.
///
/// # Errors
/// As [`publish`].
#[cfg(feature = "serve")]
pub(super) fn publish_copy(from: &mut File, path: &Path) -> io::Result<()> {
    let (draft, mut file) = at_unused_name(path, |draft| options(false).create_new(true).open(draft))?;
    let copied = io::copy(from, &mut file).and_then(|_| file.set_permissions(from.metadata()?.permissions()));
    // A program cannot run while a file that can write it is open.
    drop(file);
    rename(&draft, path, copied)
}

/// Puts a link at a path.
///
/// # Errors
/// As [`publish`].
#[cfg(all(unix, feature = "serve"))]
pub(super) fn publish_link(to: &Path, path: &Path) -> io::Result<()> {
    let draft = at_unused_name(path, |draft| std::os::unix::fs::symlink(to, draft))?.0;
    rename(&draft, path, Ok(()))
}

/// Gives a complete draft its name, and removes an incomplete one.
fn rename(draft: &Path, path: &Path, written: io::Result<()>) -> io::Result<()> {
    written.and_then(|()| fs::rename(draft, path)).inspect_err(|_| drop(fs::remove_file(draft)))
}

/// Creates something next to a path, with an unpredictable name. The name of the path is no part of it, because that may
/// be as long as the system permits.
fn at_unused_name<T>(path: &Path, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    if path.file_name().is_none() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    for _ in 0..ATTEMPTS {
        let drawn = RandomState::new().hash_one(std::process::id());
        let draft = path.with_file_name(format!(".{drawn:016x}.part"));
        match create(&draft) {
            Ok(created) => return Ok((draft, created)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
