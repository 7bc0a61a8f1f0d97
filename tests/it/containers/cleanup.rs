//! `--backend container`: a start removes everything that a killed run left behind, whatever the phase of
//! that run.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::{FEATURE, docker, has_our_image};
use crate::cli::environment::{TestEnvironment, pause};

fn command(environment: &TestEnvironment) -> Command {
    let place =
        ["test", "f.feature", "--backend", "container", "--speed", "3600x", "--writes-per-second", "5000"];
    let mut command = environment.command(&[&place[..], &["--debug"]].concat());
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command
}

/// Starts a run and kills it some time after it has printed `word`. Returns the name of its cluster.
#[expect(clippy::zombie_processes, reason = "a process that never prints the word has ended")]
fn killed_after(environment: &TestEnvironment, word: &str, millis: u64) -> String {
    let mut child: Child = command(environment).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut name = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(rest) = line.strip_prefix("creating cluster ") {
            rest.split(' ').next().unwrap_or_default().clone_into(&mut name);
        }
        if line.starts_with(word) {
            pause(millis);
            child.kill().unwrap();
            child.wait().unwrap();
            return name;
        }
    }
    panic!("the run never printed {word}");
}

fn containers(name: &str) -> String {
    docker(&["ps", "--all", "--quiet", "--filter", &format!("name={name}")]).unwrap()
}

#[test]
fn the_next_start_cleans_up_a_run_killed_in_any_phase() {
    if !has_our_image() {
        return;
    }
    let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
    let phases = [
        ("creating cluster", 0),
        ("run: docker run", 0),
        ("done: docker run", 0),
        ("done: docker port", 0),
        // While objects are created, and while the scenario runs.
        ("done: docker port", 200),
        ("done: docker port", 1000),
        ("removing the objects of run", 0),
        ("run: docker rm", 0),
    ];
    for (phase, millis) in phases {
        let name = killed_after(&environment, phase, millis);
        let output = command(&environment).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{phase}: {text}");
        assert!(text.contains("1 passed, 0 failed;"), "{phase}: {text}");
        assert!(text.contains(&format!("cluster {name} was left by a process")), "{phase}: {text}");
        assert_eq!(containers(&name), "", "{phase}: {text}");
        let own =
            text.lines().find_map(|line| line.strip_prefix("deleted cluster ").filter(|own| *own != name));
        assert_eq!(containers(own.unwrap_or_else(|| panic!("{phase}: {text}"))), "", "{phase}");
    }
    assert_eq!(environment.files(), ["f.feature"]);
}

#[test]
fn a_missing_image_is_reported() {
    if !has_our_image() {
        return;
    }
    let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
    let output =
        command(&environment).args(["--image", "localhost/windtunnel-no-such-image:1"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("error: `docker run --detach --name windtunnel-"), "{text}");
}
