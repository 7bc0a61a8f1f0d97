//! `windtunnel envtest -- COMMAND`: the environment of the command, its exit code, signals, and what is left behind.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::super::environment::{TestEnvironment, pause};

/// Runs a shell script as the command.
fn script(script: &str, flags: &[&str]) -> (TestEnvironment, super::super::environment::Output) {
    let environment = TestEnvironment::new();
    let arguments = [&["envtest"], flags, &["--", "/bin/sh", "-c", script]].concat();
    let output = environment.run(&arguments);
    (environment, output)
}

#[test]
fn the_command_finds_the_programs_and_gives_the_exit_code() {
    let all = "PATH=/usr/bin:/bin; for program in $TEST_ASSET_KUBE_APISERVER $TEST_ASSET_ETCD $TEST_ASSET_KUBECTL; do \
               test $(dirname $program) = $KUBEBUILDER_ASSETS; $program --help | head -1; done; \
               echo $KUBEBUILDER_ASSETS > folder; exit 3";
    let (environment, output) = script(all, &["--kubernetes", "1.33"]);
    assert_eq!(output.code, Some(3), "{output}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    let expected =
        ["windtunnel's kube-apiserver v1.33.0 ", "windtunnel's etcd 3.", "This kubectl is a placeholder"];
    assert!(
        lines.len() == 3 && lines.iter().zip(expected).all(|(line, start)| line.starts_with(start)),
        "{output}"
    );
    assert_eq!(output.stderr, "");
    let folder = environment.read("folder");
    assert!(!std::path::Path::new(folder.trim()).exists(), "{folder} is left");
    assert_eq!(script("kill -9 $$", &[]).1.code, Some(128 + 9));
    assert_eq!(script("exit 0", &["--perturb", "stale,seed=7"]).1.stderr, "windtunnel: 0 faults, seed 7\n");
}

#[test]
fn programs_on_the_path_have_the_settings_of_their_folder() {
    use std::os::unix::process::CommandExt as _;
    for flags in [&[][..], &["--copy"]] {
        let environment = TestEnvironment::new();
        let fill = [&["envtest", "assets", "--kubernetes", "1.30"], flags].concat();
        assert_eq!(environment.run(&fill).code, Some(0));
        let work = environment.work();
        for (name, path) in [
            ("kube-apiserver", "/usr/bin:assets"),
            ("kube-apiserver", work.join("assets").to_str().unwrap()),
            ("assets/kube-apiserver", ""),
        ] {
            let mut command = Command::new(work.join("assets/kube-apiserver"));
            let output =
                command.arg0(name).arg("--version").env_clear().env("PATH", path).current_dir(&work).output();
            assert_eq!(
                String::from_utf8(output.unwrap().stdout).unwrap(),
                "Kubernetes v1.30.0\n",
                "{name} in {path}"
            );
        }
        let in_folder = Command::new(work.join("assets/kube-apiserver"))
            .arg0("kube-apiserver")
            .arg("--version")
            .env_clear()
            .env("PATH", ":/usr/bin")
            .current_dir(work.join("assets"))
            .output();
        assert_eq!(String::from_utf8(in_folder.unwrap().stdout).unwrap(), "Kubernetes v1.30.0\n");
    }
}

#[test]
fn a_command_that_cannot_start_is_explained() {
    let environment = TestEnvironment::with(&[("data.txt", "")]);
    let run = |command: &str| environment.run(&["envtest", "--", command]);
    let output = run("no-such-command");
    assert_eq!(output.code, Some(127));
    let expected = "error: no-such-command: there is no such command on the PATH; install it, or write its path after `--`\n";
    assert_eq!(output.stderr, expected);
    let output = run("./missing");
    assert_eq!(output.code, Some(127));
    assert!(output.stderr.starts_with("error: ./missing: there is no such file"), "{output}");
    let output = run("./data.txt");
    assert_eq!(output.code, Some(126));
    assert!(output.stderr.starts_with("error: ./data.txt: cannot be executed"), "{output}");
    assert_eq!(environment.run(&["envtest"]).code, Some(2));
    assert_eq!(environment.run(&["envtest", "assets", "--", "true"]).code, Some(2));
    let output = environment.run(&["envtest", "--perturb", "stael", "--", "true"]);
    assert!(output.code == Some(2) && output.stderr.contains("did you mean `stale`?"), "{output}");
}

#[test]
fn signals_go_on_to_the_command() {
    let environment = TestEnvironment::new();
    let script =
        "trap 'echo got TERM; exit 7' TERM; echo ready; while :; do PATH=/usr/bin:/bin sleep 0.1; done";
    let mut command = environment.command(&["envtest", "--", "/bin/sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(lines.next().unwrap().unwrap(), "got TERM");
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn servers_that_the_command_leaves_behind_end() {
    let environment = TestEnvironment::new();
    let script = "$TEST_ASSET_ETCD --listen-client-urls=http://127.0.0.1:0 > /dev/null 2>&1 & echo $! > pid";
    assert_eq!(environment.run(&["envtest", "--", "/bin/sh", "-c", script]).code, Some(0));
    let pid = environment.read("pid");
    let state = std::path::Path::new("/proc").join(pid.trim()).join("stat");
    for _ in 0..500 {
        // A process that ended and that its parent has not waited for is a zombie.
        if std::fs::read_to_string(&state).map_or(true, |state| state.contains(") Z ")) {
            return;
        }
        pause(20);
    }
    panic!("process {pid} is left");
}
