//! Links that another user may have created in a world-writable folder.

use crate::cli::output::Shown as _;
#[cfg(unix)]
use std::fs::{self, Metadata};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Rejects a path with a link that another user created in a world-writable folder.
pub(in crate::cli::files) fn check_links(path: &Path) -> io::Result<()> {
    path.ancestors().filter(|part| !part.as_os_str().is_empty()).try_for_each(check_link)
}

/// Rejects a link that another user created in a world-writable folder, also in a chain of links.
#[cfg(unix)]
fn check_link(path: &Path) -> io::Result<()> {
    /// The maximum number of links that the system follows.
    const HOPS: u32 = 40;
    let mut at = path.to_owned();
    for _ in 0..HOPS {
        let Some(link) = fs::symlink_metadata(&at).ok().filter(Metadata::is_symlink) else {
            return Ok(());
        };
        let folder = folder_of(&at);
        if is_suspicious(&link, &fs::metadata(folder)?) {
            let why = format!(
                "{} is another user's link in a world-writable folder; choose a path in another folder",
                at.shown()
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

/// Returns the folder of a path.
#[cfg(unix)]
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns whether a link in a world-writable folder belongs to neither this user nor root. The system follows a link of the
/// folder's owner (`protected_symlinks`), which is no reason to trust that user.
#[cfg(unix)]
fn is_suspicious(link: &Metadata, folder: &Metadata) -> bool {
    const ROOT: u32 = 0;
    is_of_other_user(link, folder) && link.uid() != ROOT
}

/// Returns whether something in a world-writable folder belongs to another user.
#[cfg(unix)]
pub(super) fn is_of_other_user(found: &Metadata, folder: &Metadata) -> bool {
    const WORLD_WRITABLE: u32 = 0o002;
    let own_user = rustix::process::geteuid().as_raw();
    folder.mode() & WORLD_WRITABLE != 0 && found.uid() != own_user
}
