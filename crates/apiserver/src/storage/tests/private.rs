//! Tests of which folders and files are accepted: those in which no other user has rights. No mode changes, no link of
//! another user is followed, and only regular files are opened.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::storage::DataDir;

const FILE: &str = "windtunnel.redb";

/// A user other than that of the test.
const OTHER: u32 = 65_534;

/// A folder `data` with a mode, in a new folder.
fn folder(mode: u32) -> (TempDir, PathBuf) {
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("data");
    fs::create_dir(&data).unwrap();
    set_mode(&data, mode);
    (above, data)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Why a folder is rejected, with `DIR` in place of its path.
#[track_caller]
fn rejection(data: &Path) -> String {
    DataDir::open(data).unwrap_err().to_string().replace(&data.display().to_string(), "DIR")
}

/// Gives a path to another user. `false` if this user may not do that, as only root may.
fn give_away(path: &Path) -> bool {
    lchown(path, Some(OTHER), Some(OTHER)).is_ok()
}

#[test]
fn an_ordinary_folder_keeps_its_mode_and_a_new_one_is_private() {
    let (above, data) = folder(0o755);
    drop(DataDir::open(&data).unwrap());
    drop(DataDir::open(&data).unwrap());
    assert_eq!((mode(&data), mode(&data.join(FILE))), (0o755, 0o600));
    let new = above.path().join("new/data");
    drop(DataDir::open(&new).unwrap());
    assert_eq!((mode(&new), mode(new.parent().unwrap()), mode(&new.join(FILE))), (0o700, 0o700, 0o600));
}

#[test]
fn a_folder_in_which_others_can_write_is_rejected_and_keeps_its_mode() {
    for wrong in [0o1777, 0o777, 0o775, 0o2775, 0o722] {
        let (_above, data) = folder(wrong);
        let expected = format!(
            "DIR: other users can write into this folder (its mode is {wrong:o}), and replace the data file; run \
             `chmod 700 DIR` if it is for the data alone, or use a folder in it that is created for the data, such as \
             `DIR/windtunnel`"
        );
        assert_eq!(rejection(&data), expected);
        assert_eq!((mode(&data), data.join(FILE).exists()), (wrong, false));
        drop(DataDir::open(&data.join("windtunnel")).unwrap());
    }
}

#[test]
fn a_volume_of_the_group_of_a_pod_is_accepted_and_its_file_is_private_again() {
    let (_above, data) = folder(0o700);
    assert_eq!(DataDir::open(&data).unwrap().setting("token", || "one".to_owned()).unwrap(), "one");
    let file = data.join(FILE);
    // As kubelets do it at each mount, with a group of the pod.
    set_mode(&file, 0o660);
    set_mode(&data, 0o2770);
    assert_eq!(DataDir::open(&data).unwrap().setting("token", || "two".to_owned()).unwrap(), "one");
    assert_eq!((mode(&data), mode(&file)), (0o2770, 0o600));
    set_mode(&file, 0o664);
    assert!(rejection(&data).contains("other users have rights for this file (its mode is 664)"));
    set_mode(&file, 0o660);
    if lchown(&data, None, Some(OTHER)).is_ok() {
        // The system removes the bit of the group when it changes.
        set_mode(&data, 0o2770);
        assert!(rejection(&data).contains("other users can write into this folder (its mode is 2770)"));
    }
}

#[test]
fn a_file_in_which_others_have_rights_is_rejected_and_keeps_its_mode() {
    for wrong in [0o644, 0o640, 0o666, 0o620] {
        let (_above, data) = folder(0o700);
        drop(DataDir::open(&data).unwrap());
        let file = data.join(FILE);
        set_mode(&file, wrong);
        let expected = format!(
            "DIR/windtunnel.redb: other users have rights for this file (its mode is {wrong:o}), which has the \
             administrator's token; run `chmod 600 DIR/windtunnel.redb`"
        );
        assert_eq!(rejection(&data), expected);
        assert_eq!(mode(&file), wrong);
        set_mode(&file, 0o600);
        drop(DataDir::open(&data).unwrap());
    }
}

#[test]
fn a_link_of_this_user_is_followed_in_a_folder_of_this_user_only() {
    let (above, data) = folder(0o755);
    let disk = above.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // To nothing yet, through another link.
    symlink("../disk/link", data.join(FILE)).unwrap();
    symlink("file", disk.join("link")).unwrap();
    assert_eq!(DataDir::open(&data).unwrap().setting("token", || "one".to_owned()).unwrap(), "one");
    assert_eq!(DataDir::open(&data).unwrap().setting("token", || "two".to_owned()).unwrap(), "one");
    assert_eq!(mode(&disk.join("file")), 0o600);
    set_mode(&disk, 0o1777);
    assert!(rejection(&data).contains("other users can write into this folder (its mode is 1777)"));
    // A circle.
    fs::remove_file(data.join(FILE)).unwrap();
    symlink(FILE, data.join(FILE)).unwrap();
    assert!(rejection(&data).starts_with("DIR/windtunnel.redb: too many links"), "{}", rejection(&data));
}

#[test]
fn only_regular_files_are_opened_and_no_device_changes_its_mode() {
    let (above, data) = folder(0o755);
    let file = data.join(FILE);
    let expected = |kind: &str| {
        format!(
            "DIR/windtunnel.redb: expected a regular file, found {kind}; remove it, or use another --data-dir"
        )
    };
    fs::create_dir(&file).unwrap();
    assert_eq!(rejection(&data), expected("a folder"));
    fs::remove_dir(&file).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "644"]).arg(&file).status().unwrap().success());
    assert_eq!((rejection(&data), mode(&file)), (expected("a pipe"), 0o644));
    fs::remove_file(&file).unwrap();
    // A copy of the device without content, directly and behind a link.
    let device = above.path().join("null");
    let made = Command::new("mknod").args(["-m", "666"]).arg(&device).args(["c", "1", "3"]).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return;
    }
    symlink("../null", &file).unwrap();
    assert!(
        rejection(&data).contains("/null: expected a regular file, found a device"),
        "{}",
        rejection(&data)
    );
    assert_eq!(mode(&device), 0o666);
    fs::rename(&device, &file).unwrap();
    assert_eq!((rejection(&data), mode(&file)), (expected("a device"), 0o666));
    assert!(fs::metadata(&file).unwrap().file_type().is_char_device());
}

#[test]
fn files_links_and_folders_of_other_users_are_rejected() {
    let (above, data) = folder(0o755);
    let (file, victim) = (data.join(FILE), above.path().join("victim"));
    fs::write(&file, "").unwrap();
    set_mode(&file, 0o666);
    if !give_away(&file) {
        return;
    }
    let expected = "DIR/windtunnel.redb: this file belongs to another user (65534), who could read the administrator's \
                    token in it; remove it, or use another --data-dir";
    assert_eq!(rejection(&data), expected);
    assert_eq!(
        (mode(&file), fs::metadata(&file).unwrap().uid(), fs::read(&file).unwrap()),
        (0o666, OTHER, Vec::new())
    );
    fs::remove_file(&file).unwrap();
    fs::write(&victim, "precious").unwrap();
    set_mode(&victim, 0o644);
    // To a file, and to nothing.
    for target in [&victim, &above.path().join("absent")] {
        symlink(target, &file).unwrap();
        assert!(give_away(&file));
        let expected = "DIR/windtunnel.redb: this is another user's link (65534), which is not followed; remove it, or \
                        use another --data-dir";
        assert_eq!(rejection(&data), expected);
        fs::remove_file(&file).unwrap();
    }
    assert_eq!((fs::read_to_string(&victim).unwrap().as_str(), mode(&victim)), ("precious", 0o644));
    assert!(!above.path().join("absent").exists());
    assert!(give_away(&data));
    let expected = "DIR: this folder belongs to another user (65534), who can replace the data file; use a folder in it \
                    that is created for the data, such as `DIR/windtunnel`";
    assert_eq!(rejection(&data), expected);
    drop(DataDir::open(&data.join("windtunnel")).unwrap());
}
