//! Places for files that only root can prepare: small disks, and folders with files of other users.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::environment::TestEnvironment;

/// A user other than that of the test.
pub(crate) const OTHER: u32 = 65_534;

/// A small disk in memory, unmounted on drop.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` if this user may not mount anything.
    pub(crate) fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=3m", "windtunnel"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Creates the folder `shared`, in which everybody can create files. Returns whether this user can give files away, as
/// only root can.
pub(crate) fn create_shared_folder(environment: &TestEnvironment) -> bool {
    let folder = environment.work().join("shared");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    let probe = environment.work().join("probe");
    fs::write(&probe, "").unwrap();
    give_away(&probe)
}

/// Gives a path to another user. Returns whether this user can do that.
pub(crate) fn give_away(path: &Path) -> bool {
    lchown(path, Some(OTHER), Some(OTHER)).is_ok()
}

/// Creates a link of another user.
pub(crate) fn link_of_another_user(to: &Path, link: &Path) {
    symlink(to, link).unwrap();
    assert!(give_away(link));
}

pub(crate) fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
