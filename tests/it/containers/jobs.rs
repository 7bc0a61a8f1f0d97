//! The Jobs in `manifests/jobs`: runs a pod of each in a container of windtunnel's image, with the arguments,
//! variables and limits of the manifest.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::Value;
use windtunnel_core::yaml;

use super::{docker, has_our_image};
use crate::cli::environment::TestEnvironment;

/// The container that the pods of the Job in this file run.
fn container(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/jobs").join(file);
    let objects: Vec<Value> = yaml::from_str_multi(&fs::read_to_string(path).unwrap()).unwrap();
    let job = objects.into_iter().find(|object| object["kind"] == "Job").unwrap();
    job["spec"]["template"]["spec"]["containers"][0].clone()
}

/// Runs the first pod of a Job, or a part of it. Returns its output, and the names of the files in its
/// volume.
fn first_pod(file: &str, part: &[&str], parts: &str) -> (Result<String, String>, Vec<String>) {
    let environment = TestEnvironment::with(&[]);
    let results = environment.work().join("results");
    fs::create_dir(&results).unwrap();
    fs::set_permissions(&results, fs::Permissions::from_mode(0o777)).unwrap();
    let volume = format!("{}:/results", results.display());
    // Any other user who runs this test must be able to remove these files.
    let owner = fs::metadata(&results).unwrap().uid();
    let user = if owner == 0 { 65532 } else { owner }.to_string();
    let container = container(file);
    let variables = [("JOB_COMPLETION_INDEX", "0"), ("PARTS", parts), ("SHARDS", parts)];
    let filled = |text: &str| {
        variables
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("$({name})"), value))
    };
    let arguments = container["args"].as_array().unwrap();
    let arguments: Vec<String> =
        arguments.iter().map(|argument| filled(argument.as_str().unwrap())).collect();
    let image = container["image"].as_str().unwrap();
    let mut command =
        vec!["run", "--rm", "--read-only", "--tmpfs", "/tmp", "--user", &user, "--cap-drop", "ALL"];
    command.extend(["--volume", &volume, image]);
    command.extend(arguments.iter().map(String::as_str).chain(part.iter().copied()));
    let printed = docker(&command);
    let mut files: Vec<String> = fs::read_dir(&results)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    (printed, files)
}

#[test]
fn a_part_of_the_suite_runs_and_writes_its_reports() {
    if !has_our_image() {
        return;
    }
    let (printed, files) = first_pod("suite.yaml", &[], "40");
    assert!(printed.as_ref().is_ok_and(|text| text.contains(" passed, 0 failed;")), "{printed:?}");
    assert_eq!(files, ["junit-0.xml", "records-0", "report-0.html"]);
}

#[test]
fn a_seed_runs_and_writes_its_reports() {
    if !has_our_image() {
        return;
    }
    // One scenario in twenty is enough.
    let (printed, files) = first_pod("seeds.yaml", &["--shard=1/20", "--quiet"], "");
    assert!(printed.as_ref().is_ok_and(|text| text.contains(" passed, 0 failed;")), "{printed:?}");
    assert_eq!(files, ["junit-0.xml", "records-0", "report-0.html"]);
}

#[test]
fn a_shard_of_an_exploration_runs_and_writes_its_files() {
    if !has_our_image() {
        return;
    }
    // A batch is enough. A finding fails the pod, and its files are there as well.
    let (_, files) = first_pod("exploration.yaml", &["--runs=8"], "4");
    assert_eq!(files, ["corpus", "explored-0.html", "found"]);
}
