//! The files that flags name: none goes through a link of another user or leaves a part behind, and no folder is
//! created for a single file.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use super::environment::TestEnvironment;
use super::places::{SmallDisk, create_shared_folder, give_away, link_of_another_user};
use super::scenarios::{CALM, WRONG};
use crate::skipped::skipped;

/// A scenario with moments for a sweep; the update is its first step.
const UPDATE: &str = "name: update
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 0}}
releases: {4.18.6: }
timeline:
- update: {to: 4.18.6}
- advance: 1s
";

/// Commands that write one file, without its path.
const FILES: &[&[&str]] = &[
    &["run", "--quiet", "calm.yaml", "--record"],
    &["run", "--quiet", "calm.yaml", "--html"],
    &["run", "--quiet", "calm.yaml", "--junit"],
    &["run", "--quiet", "calm.yaml", "--junit-upgrade"],
    &["run", "--quiet", "calm.yaml", "--test-results"],
    &["run", "--quiet", "calm.yaml", "--cucumber-json"],
    &["run", "--quiet", "calm.yaml", "--github-summary"],
    &["report", "calm.jsonl", "--html"],
    &["scenario-from", "calm.jsonl", "--output"],
    &["sweep", "update.yaml", "--rollback-at", "500ms", "--svg"],
    &["explore", "calm.yaml", "--runs", "1", "--html"],
    &["explore", "minimise", "wrong.yaml", "--runs", "1", "--output"],
    #[cfg(feature = "serve")]
    &["serve", "--bare", "--port", "0", "--kubeconfig"],
    #[cfg(feature = "serve")]
    &["serve", "--bare", "--port", "0", "--perturb", "stale", "--fault-log"],
];

/// Commands that write several files into a folder, without its path.
const FOLDERS: &[&[&str]] = &[
    &["run", "--quiet", "calm.yaml", "update.yaml", "--record"],
    &["run", "--quiet", "calm.yaml", "--check-gaps", "--emit"],
    &["must-gather", "calm.jsonl", "--output"],
    &["sweep", "update.yaml", "--rollback-at", "500ms", "--emit"],
    &["explore", "calm.yaml", "--runs", "1", "--corpus"],
    &["explore", "calm.yaml", "--runs", "1", "--emit"],
    #[cfg(feature = "serve")]
    &["envtest"],
];

fn environment() -> TestEnvironment {
    let environment =
        TestEnvironment::with(&[("calm.yaml", CALM), ("update.yaml", UPDATE), ("wrong.yaml", WRONG)]);
    assert_eq!(environment.run(&["run", "--quiet", "calm.yaml", "--record", "calm.jsonl"]).code, Some(0));
    environment
}

/// The arguments of a command with its path, which some flags take only after `=`.
fn with_path(command: &[&str], path: &str) -> Vec<String> {
    let mut arguments: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    match arguments.last_mut().filter(|flag| *flag == "--github-summary") {
        Some(flag) => flag.push_str(&format!("={path}")),
        None => arguments.push(path.to_owned()),
    }
    arguments
}

/// Runs a command that must fail with exit code 2. Returns its errors.
#[track_caller]
fn rejection(environment: &TestEnvironment, command: &[&str], path: &str) -> String {
    let arguments = with_path(command, path);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = environment.run(&arguments);
    assert_eq!(output.code, Some(2), "{arguments:?}: {output}");
    output.stderr
}

#[test]
fn no_folder_is_created_for_a_file_or_above_a_folder() {
    let environment = environment();
    for command in FILES {
        let why = rejection(&environment, command, "absent/file");
        let expected = "error: absent/file: cannot be written: there is no folder absent; create it first\n";
        assert!(why.ends_with(expected), "{command:?}: {why}");
    }
    for command in FOLDERS {
        let why = rejection(&environment, command, "absent/folder");
        assert!(why.contains("absent/folder"), "{command:?}: {why}");
        assert!(why.contains("there is no folder absent; create it first"), "{command:?}: {why}");
    }
    assert_eq!(environment.files(), ["calm.jsonl", "calm.yaml", "update.yaml", "wrong.yaml"]);
    assert!(!environment.work().join("absent").exists());
}

#[test]
fn no_output_replaces_an_input() {
    let environment = environment();
    std::os::unix::fs::symlink("calm.yaml", environment.work().join("link.yaml")).unwrap();
    environment.write("other.feature", "Feature: other\n");
    let expected = "would be overwritten; name another file\n";
    for command in FILES {
        let Some(input) = command.iter().find(|word| word.contains('.')) else { continue };
        let before = environment.read(input);
        let why = rejection(&environment, command, input);
        assert!(why.contains(input) && why.ends_with(expected), "{command:?}: {why}");
        assert_eq!(environment.read(input), before, "{command:?}");
    }
    for path in ["link.yaml", "./calm.yaml", "update.yaml", "other.feature"] {
        let why = rejection(&environment, FILES[0], path);
        assert!(why.contains(path) && why.ends_with(expected), "{path}: {why}");
    }
    assert_eq!(environment.read("calm.yaml"), CALM);
}

#[test]
fn nothing_runs_if_the_folder_of_records_cannot_be_created() {
    let environment = environment();
    fs::create_dir(environment.work().join("closed")).unwrap();
    environment.write("closed/file", "");
    let output = environment.run(&["run", "calm.yaml", "--record", "closed/file/"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    fs::set_permissions(environment.work().join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(environment.work().join("closed/probe"), "").is_ok() {
        return skipped("user without the rights of root");
    }
    let output = environment.run(&["run", "calm.yaml", "--record", "closed/new/"]);
    let expected = "error: closed/new/: cannot create the folder: Permission denied (os error 13)\n";
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (Some(2), "", expected));
}

#[test]
fn nothing_runs_if_the_folder_of_a_report_is_missing() {
    let environment = environment();
    let output = environment.run(&["run", "calm.yaml", "--junit", "a/j", "--record", "b/r"]);
    let expected = "error: b/r: cannot be written: there is no folder b; create it first\n\
                    error: a/j: cannot be written: there is no folder a; create it first\n";
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (Some(2), "", expected));
}

#[test]
fn nothing_is_written_through_links_of_another_user() {
    let environment = environment();
    if !create_shared_folder(&environment) {
        return skipped("right to give files to another user");
    }
    environment.write("victim", "precious\n");
    fs::create_dir(environment.work().join("folder")).unwrap();
    let shared = environment.work().join("shared");
    link_of_another_user(&environment.work().join("victim"), &shared.join("link"));
    link_of_another_user(&environment.work().join("folder"), &shared.join("to-folder"));
    let files = environment.files();
    let expected = "is another user's link in a world-writable folder; choose a path in another folder";
    for command in FILES {
        let why = rejection(&environment, command, "shared/link");
        assert!(why.contains(&format!("shared/link {expected}")), "{command:?}: {why}");
        assert_eq!(environment.read("victim"), "precious\n", "{command:?}");
    }
    for command in FOLDERS {
        let why = rejection(&environment, command, "shared/to-folder");
        assert!(why.contains(&format!("shared/to-folder {expected}")), "{command:?}: {why}");
    }
    // The owner of a folder that everybody can write may have created a link in it.
    fs::create_dir(environment.work().join("theirs")).unwrap();
    let theirs = environment.work().join("theirs");
    link_of_another_user(&environment.work().join("victim"), &theirs.join("link"));
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(give_away(&theirs));
    let why = rejection(&environment, FILES[1], "theirs/link");
    assert!(why.contains(&format!("theirs/link {expected}")), "{why}");
    fs::remove_file(theirs.join("link")).unwrap();
    fs::remove_dir(theirs).unwrap();
    // A name that can be guessed, in a folder that everybody can write.
    let emitted = environment.run(&["sweep", "update.yaml", "--rollback-at", "500ms", "--emit", "own"]);
    assert_eq!(emitted.code, Some(0), "{emitted}");
    let name = fs::read_dir(environment.work().join("own")).unwrap().next().unwrap().unwrap().file_name();
    link_of_another_user(&environment.work().join("victim"), &shared.join(&name));
    let why =
        rejection(&environment, &["sweep", "update.yaml", "--rollback-at", "500ms", "--emit"], "shared");
    assert!(why.contains(expected), "{why}");
    assert_eq!(environment.read("victim"), "precious\n");
    let names = |name: &String| !name.starts_with("own/") && !name.starts_with("shared/0");
    assert_eq!(environment.files().into_iter().filter(names).collect::<Vec<_>>(), files);
}

/// Fills a disk to its last byte.
fn fill(file: &Path) {
    let mut file = fs::File::create(file).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

#[test]
fn a_full_disk_leaves_no_part_of_a_file() {
    let environment = environment();
    let disk = environment.work().join("disk");
    let Some(_disk) = SmallDisk::mount(&disk) else { return skipped("right to mount a disk") };
    // All but the last bytes of a page of memory, so that a part of the next text has room.
    let before = "x".repeat(4090) + "\n";
    environment.write("disk/summary", &before);
    environment.write("disk/page", "old\n");
    fill(&disk.join("ballast"));
    let mut written = vec![("disk/page", &FILES[1]), ("disk/summary", &FILES[6])];
    written.extend(FILES[..10].iter().map(|command| ("disk/new", command)));
    for (path, command) in written {
        let why = rejection(&environment, command, path);
        let expected = format!("error: {path}: cannot be written: No space left on device (os error 28)\n");
        assert_eq!(why, expected, "{command:?}");
    }
    let why = rejection(&environment, FOLDERS[3], "disk/emitted");
    assert!(why.contains("No space left on device"), "{why}");
    let on_disk = environment.files().into_iter().filter(|name| name.starts_with("disk/"));
    assert_eq!(on_disk.collect::<Vec<_>>(), ["disk/ballast", "disk/page", "disk/summary"]);
    assert_eq!(
        (environment.read("disk/summary"), environment.read("disk/page")),
        (before, "old\n".to_owned())
    );
}

#[test]
fn pipes_stay_and_own_links_are_followed() {
    let environment = environment();
    let pipe = environment.work().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in [FILES[6], FILES[9]] {
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
        };
        let arguments = with_path(command, "pipe");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = environment.run(&arguments);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(!reader.join().unwrap().is_empty(), "{command:?}");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }
    fs::remove_file(pipe).unwrap();
    environment.write("summary", "first\n");
    std::os::unix::fs::symlink("summary", environment.work().join("link")).unwrap();
    for _ in 0..2 {
        assert_eq!(environment.run(&["run", "--quiet", "calm.yaml", "--github-summary=link"]).code, Some(0));
    }
    let summary = environment.read("summary");
    assert!(summary.starts_with("first\n") && summary.matches("1 passed").count() == 2, "{summary}");
}
