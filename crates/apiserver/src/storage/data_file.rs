//! The file of a database: a regular file that no other user can read, in a folder in which no other user can write.
//!
//! It has the administrator's token and the key of the certificate authority. In a folder in which others can write, they
//! may put a link or a file of their own in its place. So everything is checked before it is used, the opened file once
//! more, and no mode of a folder is changed: one such as that for temporary files belongs to others as well.
//!
//! A volume with `fsGroup` is an exception. At each mount, kubelets give it, with all files in it, to a group of the pod
//! (`SetVolumeOwnership` of pkg/volume): folders get the mode 2770, and files the rights of their owner for the group.

use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The maximum number of links to follow.
const HOPS: u32 = 16;

/// Rights of the group and of others in the mode of a file.
const OF_OTHERS: u32 = 0o077;
const WRITE_OF_OTHERS: u32 = 0o022;

/// The mode of the folders of a volume with `fsGroup`, as far as others than their owner are concerned.
const OF_GROUP: u32 = 0o2070;

/// Opens a file in a folder. Creates both if absent.
///
/// # Errors
/// The folder or the file cannot be used, or other users have rights in it; with the path and the advice.
pub(super) fn open(folder: &Path, name: &str) -> Result<File, String> {
    create_folder(folder)
        .map_err(|error| format!("{}: cannot create this folder: {error}", folder.display()))?;
    let user = own_user();
    let mut path = folder.join(name);
    for _ in 0..HOPS {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let access = check_folder(path.parent().unwrap_or(Path::new("/")), user)?;
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => match create(&path, user)? {
                Some(file) => return Ok(file),
                None => continue,
            },
            found => found.map_err(failed)?,
        };
        if !found.is_symlink() {
            return open_existing(&path, &found, user, access);
        }
        path = target(&path, &found, user)?;
    }
    Err(format!("{}: too many links, or another process creates and deletes this file", path.display()))
}

/// Creates a folder and those above it. Only this user may access the new ones.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Who may use the files of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The user of this process.
    Own,
    /// A group to which kubelets give them, and which this process is in.
    Group,
}

/// Checks that no other user, except root and those of the group of a volume, can put a file into a folder.
fn check_folder(folder: &Path, user: u32) -> Result<Access, String> {
    let place = folder.display();
    let found = fs::metadata(folder).map_err(|error| format!("{place}: {error}"))?;
    let Rights { owner, mode } = rights(&found);
    let below = folder.join("windtunnel");
    let below = below.display();
    if owner != user && owner != ROOT {
        return Err(format!(
            "{place}: this folder belongs to another user ({owner}), who can replace the data file; use a folder in \
             it that is created for the data, such as `{below}`"
        ));
    }
    if mode & (OF_GROUP | OF_OTHERS) == OF_GROUP && is_in_group(&found) {
        return Ok(Access::Group);
    }
    if mode & WRITE_OF_OTHERS != 0 {
        return Err(format!(
            "{place}: other users can write into this folder (its mode is {mode:o}), and replace the data file; run \
             `chmod 700 {place}` if it is for the data alone, or use a folder in it that is created for the data, \
             such as `{below}`"
        ));
    }
    Ok(Access::Own)
}

/// Returns the target of a link in a folder in which only this user and root can write.
fn target(link: &Path, found: &Metadata, user: u32) -> Result<PathBuf, String> {
    let place = link.display();
    let owner = rights(found).owner;
    if owner != user {
        return Err(format!(
            "{place}: this is another user's link ({owner}), which is not followed; remove it, or use another --data-dir"
        ));
    }
    let to = fs::read_link(link).map_err(|error| format!("{place}: {error}"))?;
    Ok(link.parent().unwrap_or(Path::new("/")).join(to))
}

/// Creates a file; `None` if another process was faster.
fn create(path: &Path, user: u32) -> Result<Option<File>, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let file = match options().create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        created => created.map_err(failed)?,
    };
    let created = file.metadata().map_err(failed)?;
    // Some file systems have no modes.
    check_file(path, &created, user, Access::Own).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(Some(file))
}

/// Opens a file that was found at a path, if only this user can read and write it. Takes the rights back that a kubelet
/// gave to a group.
fn open_existing(path: &Path, found: &Metadata, user: u32, access: Access) -> Result<File, String> {
    // Opening a device or a pipe may already have an effect.
    check_file(path, found, user, access)?;
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let file = options().open(path).map_err(failed)?;
    let opened = file.metadata().map_err(failed)?;
    check_file(path, &opened, user, access)?;
    if !is_same(found, &opened) {
        return Err(format!("{}: another process replaced this file meanwhile", path.display()));
    }
    #[cfg(unix)]
    if rights(&opened).mode & OF_OTHERS != 0 {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
    }
    Ok(file)
}

fn check_file(path: &Path, found: &Metadata, user: u32, access: Access) -> Result<(), String> {
    let place = path.display();
    if !found.is_file() {
        let kind = kind(found.file_type());
        return Err(format!(
            "{place}: expected a regular file, found {kind}; remove it, or use another --data-dir"
        ));
    }
    let Rights { owner, mode } = rights(found);
    if owner != user {
        return Err(format!(
            "{place}: this file belongs to another user ({owner}), who could read the administrator's token in it; \
             remove it, or use another --data-dir"
        ));
    }
    let accepted = if access == Access::Group { OF_GROUP } else { 0 };
    if mode & OF_OTHERS & !accepted != 0 {
        return Err(format!(
            "{place}: other users have rights for this file (its mode is {mode:o}), which has the administrator's \
             token; run `chmod 600 {place}`"
        ));
    }
    Ok(())
}

fn kind(found: FileType) -> &'static str {
    if found.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if found.is_fifo() {
            return "a pipe";
        }
        if found.is_block_device() || found.is_char_device() {
            return "a device";
        }
    }
    "something else"
}

/// The user who may do everything.
const ROOT: u32 = 0;

/// The owner of a file, and who may do something with it.
struct Rights {
    owner: u32,
    mode: u32,
}

#[cfg(unix)]
fn rights(found: &Metadata) -> Rights {
    use std::os::unix::fs::MetadataExt as _;
    Rights { owner: found.uid(), mode: found.mode() & 0o7777 }
}

#[cfg(not(unix))]
fn rights(_: &Metadata) -> Rights {
    Rights { owner: ROOT, mode: 0 }
}

/// Returns the effective user of this process.
#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn own_user() -> u32 {
    ROOT
}

/// Returns whether this process is in the group of a file or folder.
#[cfg(unix)]
fn is_in_group(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let groups = rustix::process::getgroups().unwrap_or_default();
    groups.into_iter().chain([rustix::process::getegid()]).any(|group| group.as_raw() == found.gid())
}

#[cfg(not(unix))]
fn is_in_group(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
