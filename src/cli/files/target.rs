//! The only place that writes to a path of the user: replaces a regular file as a whole, writes into a device or a pipe, and
//! writes in place through a link.
//!
//! In a world-writable folder, such as the one for temporary files, another user may have created something
//! at that name or at any predictable name. Therefore new files have random names until they are complete,
//! existing files are not opened for them, and links of other users are not followed there.

use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The number of attempts to find an unused name.
const ATTEMPTS: u32 = 16;

/// The kind of an existing target.
enum Target {
    /// Nothing, or a regular file, which may be replaced.
    File,
    /// A link to a file or to nothing, or a device or a pipe.
    Other,
}

/// Writes a text to a path. Other users cannot read a private file.
pub(super) fn write(path: &Path, text: &str, private: bool) -> io::Result<()> {
    match inspect(path)? {
        Target::Other => in_place(path, private)?.write_all(text.as_bytes()),
        Target::File => {
            let (draft, mut file) = draft(path, private)?;
            publish(&draft, path, file.write_all(text.as_bytes()))
        }
    }
}

/// Creates an empty file, to be written incrementally. Other users cannot read a private one.
#[cfg(any(feature = "live", feature = "serve"))]
pub(super) fn create(path: &Path, private: bool) -> io::Result<File> {
    match inspect(path)? {
        Target::Other => in_place(path, private),
        Target::File => {
            let (draft, file) = draft(path, private)?;
            publish(&draft, path, Ok(()))?;
            Ok(file)
        }
    }
}

/// Appends a text to a file, or creates it. A file that cannot take all of the text keeps its old content.
pub(super) fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut options = options(false);
    options.append(true);
    if matches!(inspect(path)?, Target::Other) {
        return options.create(true).open(path)?.write_all(text.as_bytes());
    }
    match options.create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => {
            let mut file = created?;
            return file.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)));
        }
    }
    let found = fs::symlink_metadata(path)?;
    let mut file = options.create_new(false).open(path)?;
    if !is_same(&found, &file.metadata()?) {
        return Err(io::Error::other("another process replaced this file meanwhile"));
    }
    file.write_all(text.as_bytes()).inspect_err(|_| drop(file.set_len(found.len())))
}

/// Copies a program, with its permissions.
#[cfg(feature = "serve")]
pub(super) fn copy(from: &Path, path: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let (draft, mut file) = draft(path, false)?;
    let copied =
        io::copy(&mut from, &mut file).and_then(|_| file.set_permissions(from.metadata()?.permissions()));
    // A program cannot run while a file that can write it is open.
    drop(file);
    publish(&draft, path, copied)
}

/// Creates a link, in the place of a file.
#[cfg(all(unix, feature = "serve"))]
pub(super) fn link(to: &Path, path: &Path) -> io::Result<()> {
    let draft = at_unused_name(path, |draft| std::os::unix::fs::symlink(to, draft))?.0;
    publish(&draft, path, Ok(()))
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

/// Gives a complete draft its name, and removes an incomplete one.
fn publish(draft: &Path, path: &Path, written: io::Result<()>) -> io::Result<()> {
    written.and_then(|()| fs::rename(draft, path)).inspect_err(|_| drop(fs::remove_file(draft)))
}

/// Determines the kind of the target, and rejects suspicious links.
fn inspect(path: &Path) -> io::Result<Target> {
    check_links(path)?;
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(Target::File) };
    if metadata.is_dir() || fs::metadata(path).is_ok_and(|target| target.is_dir()) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(if metadata.is_file() { Target::File } else { Target::Other })
}

/// Rejects a path with a link that another user created in a world-writable folder.
pub(super) fn check_links(path: &Path) -> io::Result<()> {
    path.ancestors().filter(|part| !part.as_os_str().is_empty()).try_for_each(check_link)
}

/// Rejects a link that another user created in a world-writable folder, also in a chain of links.
#[cfg(unix)]
fn check_link(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    const WORLD_WRITABLE: u32 = 0o002;
    /// The maximum number of links that the system follows.
    const HOPS: u32 = 40;
    let mut at = path.to_owned();
    for _ in 0..HOPS {
        let Some(link) = fs::symlink_metadata(&at).ok().filter(Metadata::is_symlink) else {
            return Ok(());
        };
        let folder = at.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder_metadata = fs::metadata(folder)?;
        let is_shared = folder_metadata.mode() & WORLD_WRITABLE != 0;
        let own_user = rustix::process::geteuid().as_raw();
        if is_shared && link.uid() != folder_metadata.uid() && link.uid() != own_user {
            let why = format!(
                "{} is another user's link in a world-writable folder; choose a path in another folder",
                at.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        at = folder.join(fs::read_link(&at)?);
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_link(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns whether two descriptions are of the same file.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Opens an existing target without replacing it. Truncates a file behind a link, and makes it private if
/// required.
fn in_place(path: &Path, private: bool) -> io::Result<File> {
    let existing = fs::metadata(path).ok();
    let is_file = existing.as_ref().is_none_or(Metadata::is_file);
    let mut options = options(private);
    // A link to nothing leads to a new file.
    let file = options.create(existing.is_none()).truncate(is_file).open(path)?;
    #[cfg(unix)]
    if private && is_file {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Creates a file next to a path, with an unpredictable name.
fn draft(path: &Path, private: bool) -> io::Result<(PathBuf, File)> {
    at_unused_name(path, |draft| options(private).create_new(true).open(draft))
}

/// Creates something next to a path, with an unpredictable name.
fn at_unused_name<T>(path: &Path, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
    for _ in 0..ATTEMPTS {
        let drawn = RandomState::new().hash_one(std::process::id());
        let draft = path.with_file_name(format!(".{name}.{drawn:016x}.part"));
        match create(&draft) {
            Ok(created) => return Ok((draft, created)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
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
