//! Files that exist before a command writes them: their mode and owner, and those that the system does not let anyone replace.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use super::environment::{Output, TestEnvironment};
use super::places::{MountedFile, OTHER, create_shared_folder, give_away, mode, without_privileges};
use super::scenarios::CALM;
use crate::skipped::skipped;

/// A command without the path that it writes.
const RUN: [&str; 4] = ["run", "--quiet", "calm.yaml", "--junit"];

fn environment() -> TestEnvironment {
    TestEnvironment::with(&[("calm.yaml", CALM)])
}

fn set_mode(environment: &TestEnvironment, path: &str, mode: u32) {
    fs::set_permissions(environment.work().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn run(environment: &TestEnvironment, path: &str) -> Output {
    environment.run(&[&RUN[..], &[path]].concat())
}

/// Checks that a command failed before it ran anything.
#[track_caller]
fn check_rejected(output: &Output, message: &str) {
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    assert_eq!(output.stderr, format!("error: {message}\n"));
}

#[track_caller]
fn check_written(environment: &TestEnvironment, path: &str) {
    let text = environment.read(path);
    assert!(text.starts_with("<?xml") && text.trim_end().ends_with("</testsuites>"), "{path}: {text}");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_owner() {
    let environment = environment();
    for expected in [0o600, 0o640, 0o664, 0o444] {
        environment.write("report", "old\n");
        set_mode(&environment, "report", expected);
        assert_eq!(run(&environment, "report").code, Some(0));
        check_written(&environment, "report");
        assert_eq!(mode(&environment.work().join("report")), expected);
        fs::remove_file(environment.work().join("report")).unwrap();
    }
    environment.write("record", "");
    set_mode(&environment, "record", 0o600);
    assert_eq!(environment.run(&["run", "--quiet", "calm.yaml", "--record", "record"]).code, Some(0));
    assert_eq!(mode(&environment.work().join("record")), 0o600);
    let report = environment.work().join("report");
    environment.write("report", "old\n");
    set_mode(&environment, "report", 0o660);
    if !give_away(&report) {
        return skipped("right to give files to another user");
    }
    assert_eq!(run(&environment, "report").code, Some(0));
    let metadata = fs::metadata(&report).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), mode(&report)), (OTHER, OTHER, 0o660));
    check_written(&environment, "report");
}

#[cfg(feature = "serve")]
#[test]
fn a_kubeconfig_is_private_also_in_place_of_a_public_one() {
    use super::serve::Served;
    let environment = TestEnvironment::with(&[("config", "")]);
    set_mode(&environment, "config", 0o666);
    let config = environment.work().join("config");
    let can_give = give_away(&config);
    drop(Served::start(&environment, &["--kubeconfig", "config", "--token", "t-1"]));
    let own = fs::metadata(environment.work()).unwrap().uid();
    assert_eq!((mode(&config), fs::metadata(&config).unwrap().uid()), (0o600, own));
    if !can_give {
        skipped("right to give files to another user");
    }
}

#[test]
fn a_planted_file_passes_on_neither_mode_nor_owner() {
    let environment = environment();
    if !create_shared_folder(&environment) {
        return skipped("right to give files to another user");
    }
    environment.write("shared/report", "");
    set_mode(&environment, "shared/report", 0o666);
    let report = environment.work().join("shared/report");
    assert!(give_away(&report));
    assert_eq!(run(&environment, "shared/report").code, Some(0));
    assert_eq!((fs::metadata(&report).unwrap().uid() == OTHER, mode(&report) & 0o002), (false, 0));
    // In a folder of a third user, an ordinary user cannot replace it, and does not fill it.
    environment.write("shared/report", "planted\n");
    set_mode(&environment, "shared/report", 0o666);
    assert!(give_away(&report));
    chown(environment.work().join("shared"), Some(OTHER - 1), None).unwrap();
    let Some(command) = without_privileges(&environment, &[&RUN[..], &["shared/report"]].concat()) else {
        return skipped("setpriv");
    };
    check_rejected(
        &environment.output_of(command),
        "shared/report: cannot be written: this is another user's file in a world-writable folder; choose a path in another \
         folder",
    );
    assert_eq!(environment.read("shared/report"), "planted\n");
}

#[test]
fn a_file_in_a_closed_folder_is_written_in_place() {
    let environment = environment();
    let run = |path: &str| {
        let command = without_privileges(&environment, &[&RUN[..], &[path]].concat())?;
        Some(environment.output_of(command))
    };
    environment.write("closed/open", "a text that is longer than nothing\n".repeat(99));
    environment.write("closed/shut", "old\n");
    set_mode(&environment, "closed/shut", 0o400);
    set_mode(&environment, "closed", 0o555);
    let Some(output) = run("closed/open") else { return skipped("setpriv") };
    assert_eq!(output.code, Some(0), "{output}");
    check_written(&environment, "closed/open");
    for path in ["closed/shut", "closed/new"] {
        let message = format!("{path}: cannot be written: Permission denied (os error 13)");
        check_rejected(&run(path).unwrap(), &message);
    }
    assert_eq!(environment.files(), ["calm.yaml", "closed/open", "closed/shut"]);
    assert_eq!(environment.read("closed/shut"), "old\n");
    // So that the environment can be removed.
    set_mode(&environment, "closed", 0o755);
}

#[test]
fn a_mounted_file_is_written_in_place() {
    let environment = environment();
    environment.write("host", "a text that is longer than nothing\n".repeat(99));
    let (host, inside) = (environment.work().join("host"), environment.work().join("inside"));
    let Some(mounted) = MountedFile::mount(&host, &inside, "rw") else {
        return skipped("right to mount a file");
    };
    let output = run(&environment, "inside");
    assert_eq!(output.code, Some(0), "{output}");
    check_written(&environment, "host");
    drop(mounted);
    let Some(_mounted) = MountedFile::mount(&host, &inside, "ro") else {
        return skipped("right to mount a file");
    };
    let message = "inside: cannot be written: Read-only file system (os error 30)";
    check_rejected(&run(&environment, "inside"), message);
    assert_eq!(environment.files(), ["calm.yaml", "host", "inside"]);
}

#[test]
fn a_name_may_be_as_long_as_the_system_permits() {
    let environment = environment();
    let name = "x".repeat(255);
    let output = run(&environment, &name);
    assert_eq!(output.code, Some(0), "{output}");
    check_written(&environment, &name);
    assert_eq!(environment.files(), ["calm.yaml", &name]);
}
