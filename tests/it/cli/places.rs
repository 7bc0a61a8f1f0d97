//! Places for files that only root can prepare: small disks, mounted files, and folders with files of other users.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
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

/// A file that is mounted over another one, as `docker run --volume` does it; unmounted on drop.
pub(crate) struct MountedFile(PathBuf);

impl MountedFile {
    /// `None` if this user may not mount anything.
    pub(crate) fn mount(file: &Path, at: &Path, options: &str) -> Option<Self> {
        fs::write(at, "").unwrap();
        let is_done = |arguments: &[&str], paths: &[&Path]| {
            let output = Command::new("mount").args(arguments).args(paths).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !is_done(&["--bind"], &[file, at]) {
            return None;
        }
        let mounted = Self(at.to_owned());
        is_done(&["-o", &format!("remount,bind,{options}")], &[at]).then_some(mounted)
    }
}

impl Drop for MountedFile {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The command of an ordinary user: root's is without root's right to every file. `None` if root cannot give it up.
pub(crate) fn without_privileges(environment: &TestEnvironment, arguments: &[&str]) -> Option<Command> {
    let command = environment.command(arguments);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        return Some(command);
    }
    let flags = ["--inh-caps=-all", "--bounding-set=-all"];
    if !Command::new("setpriv").args(flags).arg("true").status().is_ok_and(|status| status.success()) {
        return None;
    }
    let mut setpriv = Command::new("setpriv");
    setpriv.args(flags).arg(command.get_program()).args(command.get_args()).env_clear();
    setpriv.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    setpriv.current_dir(environment.work());
    Some(setpriv)
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
