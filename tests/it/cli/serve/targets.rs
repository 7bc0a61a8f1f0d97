//! Safe writing of kubeconfigs: not through files of other users, and not in place of devices.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::Path;
use std::process::Command;

use super::{Served, TestEnvironment};
use crate::skipped::skipped;

/// A user other than that of the test.
const OTHER: u32 = 65_534;

/// Creates a folder in which everybody can create files. Returns whether this user can give files away, as
/// only root can.
fn create_shared_folder(environment: &TestEnvironment) -> bool {
    let folder = environment.work().join("shared");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    let probe = environment.work().join("probe");
    fs::write(&probe, "").unwrap();
    let can = lchown(&probe, Some(OTHER), Some(OTHER)).is_ok();
    if !can {
        skipped("right to give files to another user");
    }
    can
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_token_is_not_written_through_files_of_another_user() {
    let environment = TestEnvironment::with(&[("victim", "precious\n")]);
    if !create_shared_folder(&environment) {
        return;
    }
    let shared = environment.work().join("shared");
    // A draft file owned by another user, under the name that drafts had, and a link to a file that only we
    // can write.
    fs::write(shared.join("config.part"), "").unwrap();
    lchown(shared.join("config.part"), Some(OTHER), Some(OTHER)).unwrap();
    symlink(environment.work().join("victim"), shared.join("link")).unwrap();
    lchown(shared.join("link"), Some(OTHER), Some(OTHER)).unwrap();
    let served = Served::start(&environment, &["--kubeconfig", "shared/config", "--token", "t-1"]);
    drop(served);
    let config = shared.join("config");
    assert!(environment.read("shared/config").contains("t-1"));
    assert_eq!((mode(&config), fs::metadata(&config).unwrap().uid() == OTHER), (0o600, false));
    assert_eq!(environment.read("shared/config.part"), "");
    assert_eq!(
        environment.files(),
        ["probe", "shared/config", "shared/config.part", "shared/link", "victim"]
    );
    let output = environment.run(&["serve", "--port", "0", "--kubeconfig", "shared/link"]);
    let expected = "error: shared/link: cannot be written: shared/link is another user's link in a world-writable \
                    folder; choose a path in another folder\n";
    assert_eq!((output.code, output.stderr.as_str()), (Some(2), expected));
    assert_eq!(environment.read("victim"), "precious\n");
}

#[test]
fn pipes_and_devices_are_written_to_and_not_replaced() {
    let environment = TestEnvironment::new();
    let pipe = environment.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || {
            let mut text = String::new();
            fs::File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
            text
        })
    };
    let served = Served::start(&environment, &["--kubeconfig", "pipe", "--token", "t-1"]);
    assert!(reader.join().unwrap().contains("t-1"));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    drop(served);
    // A copy of the device that is always full.
    let mknod = Command::new("mknod").current_dir(environment.work()).args(["full", "c", "1", "7"]).status();
    if !mknod.is_ok_and(|status| status.success()) {
        return skipped("right to make devices");
    }
    let output = environment.run(&["serve", "--port", "0", "--kubeconfig", "full"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert_eq!(output.stderr, "error: full: cannot be written: No space left on device (os error 28)\n");
    let kind = fs::symlink_metadata(environment.work().join("full")).unwrap().file_type();
    assert!(kind.is_char_device());
}

#[test]
fn a_link_of_the_same_user_is_followed_and_no_folder_is_created() {
    let environment = TestEnvironment::with(&[("real/config", "old\n")]);
    let real = environment.work().join("real/config");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("real/config", environment.work().join("link")).unwrap();
    drop(Served::start(&environment, &["--kubeconfig", "link", "--token", "t-1"]));
    assert!(fs::symlink_metadata(environment.work().join("link")).unwrap().is_symlink());
    assert!(environment.read("real/config").contains("t-1"));
    assert_eq!(mode(&real), 0o600);
    let output = environment.run(&["serve", "--port", "0", "--kubeconfig", "new/config"]);
    let expected = "error: new/config: cannot be written: there is no folder new; create it first\n";
    assert_eq!((output.code, output.stderr.as_str()), (Some(2), expected));
    assert!(!environment.work().join("new").exists());
}
