//! The example `volume_keeper_python`, with and without its bug.

use std::process::{Command, Stdio};

use super::environment::TestEnvironment;
use crate::skipped::skipped;

const CONTROLLER: &str = include_str!("../../../examples/volume_keeper_python/controller.py");
const RESTORE: &str = include_str!("../../../examples/volume_keeper_python/restore.yaml");

/// The step after which the controller must see the restored Workspace.
const REMOVAL: &str = "- patch: {object: Workspace/default/notes";

/// The fault that makes the bug visible.
const FAULT: &str = "- fault: {api: {kind: Workspace, by: volume-keeper}, is: watch-stale, for: 10s}\n";

/// Whether the `python3` of the `PATH` has the client library of Kubernetes.
fn has_client() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import kubernetes"]).stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

/// Runs the scenario of the example. Returns the exit code and the output.
fn run(is_buggy: bool, is_stale: bool) -> (Option<i32>, String) {
    let mut scenario = RESTORE.to_owned();
    if is_buggy {
        let user = "  as: system:serviceaccount";
        assert!(scenario.contains(user), "{scenario}");
        scenario = scenario.replace(user, &format!("  env: {{BUGGY: \"1\"}}\n{user}"));
    }
    if is_stale {
        assert!(scenario.contains(REMOVAL), "{scenario}");
        scenario = scenario.replace(REMOVAL, &format!("{FAULT}{REMOVAL}"));
    }
    let environment = TestEnvironment::with(&[("restore.yaml", &scenario), ("controller.py", CONTROLLER)]);
    let mut command = environment.command(&["run", "restore.yaml", "--quiet", "--allow-programs"]);
    let output = command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn the_controller_in_python_keeps_a_restored_volume() {
    if !has_client() {
        return skipped("python3 with the package kubernetes");
    }
    for is_stale in [false, true] {
        let (code, output) = run(false, is_stale);
        assert_eq!(code, Some(0), "{output}");
        assert!(!output.contains("the clock went on"), "{output}");
    }
}

#[test]
fn a_stale_watch_makes_the_bug_in_python_visible() {
    if !has_client() {
        return skipped("python3 with the package kubernetes");
    }
    let (code, output) = run(true, false);
    assert_eq!(code, Some(0), "{output}");
    let (code, output) = run(true, true);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("there is no PersistentVolumeClaim/default/notes-data"), "{output}");
}
