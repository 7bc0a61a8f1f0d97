//! A regular file that is at a path of the user before it is written.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

#[cfg(unix)]
use super::links::{folder_of, is_of_other_user};
use super::options;

/// A regular file.
pub(super) struct Existing(Metadata);

impl Existing {
    pub(super) fn new(found: Metadata) -> Self {
        Self(found)
    }

    /// Opens it for a write in place.
    ///
    /// # Errors
    /// It cannot be written, is of another user in a world-writable folder, or was replaced since.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        if self.is_of_other_user(path) {
            let why =
                "this is another user's file in a world-writable folder; choose a path in another folder";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let file = options(false).open(path)?;
        expect_at(path, &file)?;
        Ok(file)
    }
}

#[cfg(unix)]
impl Existing {
    /// Returns whether another user may have created it, to get the content that is meant for this path.
    pub(super) fn is_of_other_user(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let folder = fs::metadata(folder_of(path));
        let is_others = |folder: &Metadata| is_of_other_user(&self.0, folder) && self.0.uid() != folder.uid();
        // Only an administrator can mount a file.
        folder.is_ok_and(|folder| is_others(&folder)) && !is_mount(path)
    }

    /// Returns whether the system accepts another file at its name, if new files can be created beside it.
    pub(super) fn is_replaceable(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        const STICKY: u32 = 0o1000;
        let user = rustix::process::geteuid().as_raw();
        let is_kept = |folder: &Metadata| {
            let owners = [self.0.uid(), folder.uid()];
            folder.mode() & STICKY != 0 && !owners.contains(&user) && !ignores_owners()
        };
        !fs::metadata(folder_of(path)).is_ok_and(|folder| is_kept(&folder)) && !is_mount(path)
    }

    /// Gives a new file its owner, group and mode, as far as the system permits.
    pub(super) fn apply_attributes(&self, file: &File) {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
        let (user, group, mode) = (Some(self.0.uid()), Some(self.0.gid()), self.0.mode() & 0o777);
        let has_group = fchown(file, user, group).or_else(|_| fchown(file, None, group)).is_ok();
        // Another group may do no more than all users may.
        let mode = if has_group { mode } else { mode & 0o707 | (mode & 0o007) << 3 };
        let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    }
}

#[cfg(not(unix))]
impl Existing {
    #[expect(clippy::unused_self, reason = "other systems keep other data about owners")]
    pub(super) fn is_of_other_user(&self, _: &Path) -> bool {
        false
    }

    #[expect(clippy::unused_self, reason = "other systems keep other data about owners")]
    pub(super) fn is_replaceable(&self, _: &Path) -> bool {
        true
    }

    #[expect(clippy::unused_self, reason = "other systems keep other data about owners")]
    pub(super) fn apply_attributes(&self, _: &File) {}
}

/// Returns whether this process may replace files as if it owned them.
#[cfg(target_os = "linux")]
fn ignores_owners() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::FOWNER))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn ignores_owners() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns whether a path is a mount of its own, such as a single file that `docker run --volume` mounts. It cannot be replaced.
#[cfg(target_os = "linux")]
fn is_mount(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_mount(_: &Path) -> bool {
    false
}

/// Checks that an open file is the one at its path. The path is looked at after the file is open, because a file in a lower layer
/// of an overlay gets another number when it is opened.
///
/// # Errors
/// It was opened through a link, or replaced since.
pub(super) fn expect_at(path: &Path, open: &File) -> io::Result<()> {
    if is_same(&fs::symlink_metadata(path)?, &open.metadata()?) {
        return Ok(());
    }
    Err(io::Error::other("another process replaced this file meanwhile"))
}

/// Returns whether two descriptions are of the same file.
#[cfg(unix)]
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
