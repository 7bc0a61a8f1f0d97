//! Safe writing of kubeconfigs and data files: not through files of other users, and not in place of devices.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;

use super::{Served, TestEnvironment};
use crate::cli::places::{OTHER, create_shared_folder, give_away, link_of_another_user, mode};
use crate::skipped::skipped;

#[test]
fn the_token_is_not_written_through_files_of_another_user() {
    let environment = TestEnvironment::with(&[("victim", "precious\n")]);
    if !create_shared_folder(&environment) {
        return skipped("right to give files to another user");
    }
    let shared = environment.work().join("shared");
    // A draft file owned by another user, under the name that drafts had, and a link to a file that only we
    // can write.
    fs::write(shared.join("config.part"), "").unwrap();
    assert!(give_away(&shared.join("config.part")));
    link_of_another_user(&environment.work().join("victim"), &shared.join("link"));
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

#[test]
fn data_is_kept_in_private_places_only() {
    let environment = TestEnvironment::with(&[("ours/note", "")]);
    let serve = |folder: &str| environment.run(&["serve", "--bare", "--port", "0", "--data-dir", folder]);
    let can_give = create_shared_folder(&environment);
    let output = serve("shared");
    let expected = "error: shared: other users can write into this folder (its mode is 1777), and replace the data file; \
                    run `chmod 700 shared` if it is for the data alone, or use a folder in it that is created for the \
                    data, such as `shared/windtunnel`\n";
    assert_eq!((output.code, output.stderr.as_str()), (Some(2), expected));
    let all_modes = fs::metadata(environment.work().join("shared")).unwrap().mode() & 0o7777;
    assert_eq!((all_modes, environment.work().join("shared/windtunnel.redb").exists()), (0o1777, false));
    drop(Served::start(&environment, &["--bare", "--data-dir", "shared/windtunnel"]));
    assert_eq!(mode(&environment.work().join("shared/windtunnel")), 0o700);
    // An ordinary folder of the user.
    let ours = environment.work().join("ours");
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).unwrap();
    drop(Served::start(&environment, &["--bare", "--data-dir", "ours"]));
    assert_eq!((mode(&ours), mode(&ours.join("windtunnel.redb"))), (0o755, 0o600));
    if !can_give {
        return skipped("right to give files to another user");
    }
    link_of_another_user(&ours, &environment.work().join("shared/link"));
    let output = serve("shared/link");
    let expected = "error: shared/link: shared/link is another user's link in a world-writable folder; choose a path in \
                    another folder\n";
    assert_eq!((output.code, output.stderr.as_str()), (Some(2), expected));
    assert!(give_away(&ours.join("windtunnel.redb")));
    let output = serve("ours");
    let expected = "error: ours/windtunnel.redb: this file belongs to another user (65534), who could read the \
                    administrator's token in it; remove it, or use another --data-dir\n";
    assert_eq!((output.code, output.stderr.as_str()), (Some(2), expected));
}
