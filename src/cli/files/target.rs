//! Writes to a path that the user names: replaces a regular file as a whole, writes into a device or a pipe,
//! and writes in place through a link.
//!
//! In a world-writable folder, such as the one for temporary files, another user may have created something
//! at that name or at any predictable name. Therefore new files have random names until they are complete,
//! existing files are not opened for them, and links of other users are not followed there.

use std::fs::{self, File, OpenOptions};
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
            file.write_all(text.as_bytes()).and_then(|()| fs::rename(&draft, path)).inspect_err(|_| {
                // The draft is useless now.
                let _ = fs::remove_file(&draft);
            })
        }
    }
}

/// Creates an empty private file.
#[cfg(feature = "live")]
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    match inspect(path)? {
        Target::Other => in_place(path, true),
        Target::File => {
            let (draft, file) = draft(path, true)?;
            fs::rename(&draft, path).inspect_err(|_| drop(fs::remove_file(&draft)))?;
            Ok(file)
        }
    }
}

/// Determines the kind of the target, and rejects suspicious links.
fn inspect(path: &Path) -> io::Result<Target> {
    for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
        check_link(part)?;
    }
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(Target::File) };
    if metadata.is_dir() || fs::metadata(path).is_ok_and(|target| target.is_dir()) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(if metadata.is_file() { Target::File } else { Target::Other })
}

/// Rejects a link that another user created in a world-writable folder, also in a chain of links.
#[cfg(unix)]
fn check_link(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    /// World-writable with the sticky bit: only owners may remove files.
    const SHARED_STICKY: u32 = 0o1002;
    /// The maximum number of links that the system follows.
    const HOPS: u32 = 40;
    let mut at = path.to_owned();
    for _ in 0..HOPS {
        let Some(link) = fs::symlink_metadata(&at).ok().filter(fs::Metadata::is_symlink) else {
            return Ok(());
        };
        let folder = at.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder_metadata = fs::metadata(folder)?;
        let is_shared = folder_metadata.mode() & SHARED_STICKY == SHARED_STICKY;
        if is_shared && link.uid() != folder_metadata.uid() && link.uid() != own_user()? {
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

/// Returns the user of this process, which is the owner of a new file.
#[cfg(unix)]
fn own_user() -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let (path, file) = draft(&std::env::temp_dir().join("user"), true)?;
    let user = file.metadata()?.uid();
    fs::remove_file(path)?;
    Ok(user)
}

/// Opens an existing target without replacing it. Truncates a file behind a link, and makes it private if
/// required.
fn in_place(path: &Path, private: bool) -> io::Result<File> {
    let existing = fs::metadata(path).ok();
    let is_file = existing.as_ref().is_none_or(fs::Metadata::is_file);
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
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
    for _ in 0..ATTEMPTS {
        let drawn = RandomState::new().hash_one(std::process::id());
        let draft = path.with_file_name(format!(".{name}.{drawn:016x}.part"));
        match options(private).create_new(true).open(&draft) {
            Ok(file) => return Ok((draft, file)),
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
