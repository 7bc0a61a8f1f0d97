//! `run` that keeps running: it reruns when a file changes, or stops at a time and serves the cluster.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Stdio};

use super::environment::TestEnvironment;
use super::scenarios::{CALM, WRONG};

/// A running windtunnel process, killed at the end of the test.
struct Run(Child);

impl Run {
    fn start(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        let mut command = environment.command(&[&["run"], arguments].concat());
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads lines up to the first one with `part`.
fn read_until(from: &mut BufReader<impl Read>, part: &str) -> String {
    let mut read = String::new();
    while !read.contains(part) {
        assert_ne!(from.read_line(&mut read).unwrap(), 0, "no `{part}` in {read}");
    }
    read
}

#[cfg(feature = "watch")]
#[test]
fn watch_reruns_a_changed_scenario() {
    let environment = TestEnvironment::with(&[("s/a.yaml", CALM)]);
    let mut run = Run::start(&environment, &["--watch", "--quiet", "--junit", "s/j.xml", "s"]);
    let mut out = BufReader::new(run.0.stdout.take().unwrap());
    let mut err = BufReader::new(run.0.stderr.take().unwrap());
    read_until(&mut out, "1 scenario: 1 passed");
    read_until(&mut err, "watching for changes");
    environment.write("s/a.yaml", WRONG);
    read_until(&mut out, "1 scenario: 0 passed, 1 failed");
    let stderr = read_until(&mut err, "watching for changes");
    assert!(stderr.contains("a.yaml changed") && !stderr.contains("j.xml changed"), "{stderr}");
    environment.write("s/a.yaml", "name: [");
    let stderr = read_until(&mut err, "watching for changes");
    assert!(stderr.contains("s/a.yaml:1:"), "{stderr}");
    environment.write("s/a.yaml", CALM);
    read_until(&mut out, "1 scenario: 1 passed");
}

#[cfg(feature = "watch")]
#[test]
fn watch_ignores_its_own_output() {
    let environment = TestEnvironment::with(&[("a.yaml", CALM)]);
    let log = std::fs::File::create(environment.work().join("log")).unwrap();
    let mut command = environment.command(&["run", "--watch", "--quiet", "a.yaml"]);
    let mut run = Run(command.stdout(log).stderr(Stdio::piped()).spawn().unwrap());
    let mut err = BufReader::new(run.0.stderr.take().unwrap());
    read_until(&mut err, "watching for changes");
    environment.write("a.yaml", WRONG);
    let stderr = read_until(&mut err, "watching for changes");
    assert!(stderr.contains("a.yaml changed") && !stderr.contains("log changed"), "{stderr}");
    environment.write("a.yaml", CALM);
    let stderr = read_until(&mut err, "watching for changes");
    assert!(stderr.contains("a.yaml changed") && !stderr.contains("log changed"), "{stderr}");
    assert_eq!(environment.read("log").matches("1 scenario: ").count(), 3);
}

#[cfg(all(feature = "live", feature = "serve"))]
#[test]
fn until_with_serve_serves_the_cluster_of_that_moment() {
    const UPDATE: &str = "name: u\ncluster: {version: 4.20.1}\nreleases: {4.20.3: {}}\ntimeline:\n\
                          - update: {to: 4.20.3}\n- advance: 5h\n";
    let environment = TestEnvironment::with(&[("u.yaml", UPDATE)]);
    let mut run = Run::start(&environment, &["--until", "20m", "--serve", "--quiet", "u.yaml"]);
    let mut out = BufReader::new(run.0.stdout.take().unwrap());
    let output = read_until(&mut out, "serving https://");
    let served = environment.run(&["status", "--kubeconfig", "wind.kubeconfig"]);
    assert!(output.contains(&served.stdout), "{served}\nbut the run printed\n{output}");
    assert!(served.stdout.contains("Target Version:  4.20.3 (from 4.20.1)"), "{served}");
    let sent = std::process::Command::new("kill").args(["-INT", &run.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(run.0.wait().unwrap().code(), Some(0));
}

#[cfg(all(feature = "live", feature = "serve"))]
#[test]
fn until_with_serve_and_a_speed_continues_from_that_moment() {
    const UPDATE: &str = "name: u\ncluster: {version: 4.20.1}\nreleases: {4.20.3: {}}\ntimeline:\n\
                          - update: {to: 4.20.3}\n- advance: 5h\n";
    let environment = TestEnvironment::with(&[("u.yaml", UPDATE)]);
    let arguments = ["--until", "20m", "--serve", "--speed", "600x", "--quiet", "u.yaml"];
    let mut run = Run::start(&environment, &arguments);
    let mut out = BufReader::new(run.0.stdout.take().unwrap());
    let output = read_until(&mut out, "serving https://");
    assert!(output.contains(" with time at 600x; kubectl --kubeconfig wind.kubeconfig"), "{output}");
    // The rest of the update, which takes less than an hour and a half.
    let advanced =
        environment.run(&["clock", "jump", "2024-01-15T09:30:00Z", "--kubeconfig", "wind.kubeconfig"]);
    assert_eq!(advanced.code, Some(0), "{advanced}");
    let version = environment.run(&["adm", "upgrade", "--kubeconfig", "wind.kubeconfig"]);
    assert!(version.stdout.contains("Cluster version is 4.20.3"), "{version}");
    let sent = std::process::Command::new("kill").args(["-INT", &run.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(run.0.wait().unwrap().code(), Some(0));
}
