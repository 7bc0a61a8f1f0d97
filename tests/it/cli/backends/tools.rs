//! Tests kind and k3d with scripts that note their calls. The cluster that they create is a windtunnel API
//! server.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use regex::Regex;

use super::{Cluster, signal};
use crate::cli::environment::{Output, TestEnvironment};

/// The script: it notes its arguments and its clusters, and behaves as the files beside it say.
const SCRIPT: &str = r#"#!/bin/sh
program="${0##*/}"
echo "$program $*" >> calls
for word in "$@"; do case "$word" in windtunnel-*) name="$word";; esac; done
/bin/mkdir -p clusters
case "$*" in
  version) echo "$program v9.9.9"; echo more;;
  *create*)
    [ -f fails ] && { echo "ERROR: failed to create cluster: no space left" >&2; exit 1; }
    : > "clusters/$name"
    [ -f "$program-hangs" ] && { echo hanging >> calls; while [ -f "$program-hangs" ]; do /bin/sleep 0.1; done; }
    [ -f is-slow ] && /bin/sleep 1
    : > "clusters/$name";;
  *delete*)
    [ -f lies ] && exit 0
    /bin/rm -f "clusters/$name";;
  *"get clusters"* | *"cluster list"*)
    [ -f list-fails ] && { echo "ERROR: no daemon" >&2; exit 1; }
    for cluster in clusters/*; do
      [ -f "$cluster" ] || continue
      [ "$program" = kind ] && echo "${cluster##*/}"
      [ "$program" = k3d ] && items="$items${items:+,}{\"name\":\"${cluster##*/}\"}"
    done
    [ "$program" = k3d ] && echo "[$items]";;
  *"get kubeconfig"* | "kubeconfig get"*)
    [ -f is-garbage ] && { echo "password: hunter2"; exit 0; }
    /bin/cat config;;
esac
exit 0
"#;

const SHORT: &str = "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster with 1 control-plane node and 0 workers\n    \
                     When 1 minute passes\n    Then ClusterVersion condition Available is True\n";

/// Installs the script under the name of a program.
pub(crate) fn install(environment: &TestEnvironment, program: &str) {
    let path = format!("bin/{program}");
    environment.write(&path, SCRIPT);
    let path = environment.work().join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs windtunnel with the scripts on its PATH.
pub(crate) fn run(environment: &TestEnvironment, arguments: &[&str]) -> Output {
    output(command(environment, arguments))
}

fn command(environment: &TestEnvironment, arguments: &[&str]) -> Command {
    let mut command = environment.command(arguments);
    command.env("PATH", environment.work().join("bin"));
    command
}

fn output(mut command: Command) -> Output {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A machine with the scripts on its PATH.
struct Machine(Cluster);

impl Machine {
    fn new() -> Self {
        let cluster = Cluster::bare();
        cluster.add_node();
        Self::of(cluster)
    }

    /// The scripts return the kubeconfig of this cluster.
    fn of(cluster: Cluster) -> Self {
        cluster.environment.write("short.feature", SHORT);
        for program in ["kind", "k3d"] {
            install(&cluster.environment, program);
        }
        Self(cluster)
    }

    /// Changes the behaviour of the scripts by a file.
    fn with(self, file: &str) -> Self {
        self.0.environment.write(file, "");
        self
    }

    fn remove(&self, file: &str) {
        std::fs::remove_file(self.0.environment.work().join(file)).unwrap();
    }

    fn command(&self, backend: &str, more: &[&str]) -> Command {
        let arguments = [
            "test",
            "short.feature",
            "--backend",
            backend,
            "--speed",
            "100000x",
            "--writes-per-second",
            "5000",
        ];
        command(&self.0.environment, &[&arguments[..], more].concat())
    }

    fn test(&self, backend: &str, more: &[&str]) -> Output {
        output(self.command(backend, more))
    }

    /// Runs `windtunnel clean`.
    fn clean(&self) -> Output {
        run(&self.0.environment, &["clean"])
    }

    /// The clusters that the scripts have created and not deleted.
    fn clusters(&self) -> Vec<String> {
        let files = self.0.environment.files();
        files.iter().filter_map(|file| file.strip_prefix("clusters/")).map(str::to_owned).collect()
    }

    /// Starts windtunnel and waits until the creation of a cluster hangs.
    #[expect(clippy::zombie_processes, reason = "the caller ends it")]
    fn hanging(&self) -> Child {
        let child = self.command("kind", &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        for _ in 0..3000 {
            if self.0.environment.files().contains(&"calls".to_owned()) && self.calls().contains("hanging") {
                return child;
            }
            crate::cli::environment::pause(20);
        }
        panic!("nothing hangs");
    }

    /// The calls of the scripts so far, with `NAME` for names and `DIR` for windtunnel's folder.
    fn calls(&self) -> String {
        let calls = self.0.environment.read("calls");
        let named =
            Regex::new(r"windtunnel-[0-9a-f]+-[0-9a-f]+").unwrap().replace_all(&calls, "NAME").into_owned();
        Regex::new(r"\S+/windtunnel/clusters/").unwrap().replace_all(&named, "DIR/").into_owned()
    }
}

#[test]
fn a_feature_passes_in_clusters_of_kind_and_k3d() {
    let machine = Machine::new().with("is-slow");
    for backend in ["kind", "k3d"] {
        let output = machine.test(backend, &[]);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stdout.contains("1 passed, 0 failed;"), "{output}");
        assert!(output.stderr.contains(&format!("with {backend} v9.9.9\n")), "{output}");
    }
    insta::assert_snapshot!(machine.calls(), @"
    kind version
    kind create cluster --name NAME --kubeconfig DIR/NAME.kubeconfig --wait 5m
    kind get kubeconfig --name NAME
    kind delete cluster --name NAME --kubeconfig DIR/NAME.kubeconfig
    kind get clusters
    k3d version
    k3d cluster create NAME --no-lb --kubeconfig-update-default=false --kubeconfig-switch-context=false --wait --timeout 5m
    k3d kubeconfig get NAME
    k3d cluster delete NAME
    k3d cluster list --output json
    ");
}

#[test]
fn a_failed_creation_is_reported_and_its_cluster_deleted() {
    let machine = Machine::new().with("fails");
    let output = machine.test("kind", &["--debug", "--image", "node:v1"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    assert!(
        output.stderr.contains("exit status: 1: ERROR: failed to create cluster: no space left"),
        "{output}"
    );
    assert!(output.stderr.contains("run: kind create cluster --name windtunnel-"), "{output}");
    insta::assert_snapshot!(machine.calls(), @"
    kind version
    kind create cluster --name NAME --kubeconfig DIR/NAME.kubeconfig --wait 5m --image node:v1
    kind delete cluster --name NAME --kubeconfig DIR/NAME.kubeconfig
    kind get clusters
    ");
}

#[test]
fn a_run_waits_for_a_ready_node() {
    let machine = Machine::of(Cluster::bare());
    let mut child =
        machine.command("kind", &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let (mut stderr_text, mut line) = (String::new(), String::new());
    while stderr.read_line(&mut line).unwrap() > 0 && !line.contains("no node is Ready yet") {
        stderr_text += &std::mem::take(&mut line);
    }
    assert_eq!(line, "waiting for the cluster: no node is Ready yet\n", "{stderr_text}");
    machine.0.add_node();
    stderr.read_to_string(&mut stderr_text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr_text}");
}

#[test]
fn each_process_deletes_its_own_cluster() {
    let machine = Machine::new().with("fails").with("is-slow");
    let start = || machine.command("kind", &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut names = Vec::new();
    for child in [start(), start()] {
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let name = |before: &str| {
            let rest = stderr.split(before).nth(1).unwrap_or_else(|| panic!("{stderr}"));
            rest.split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!(name("creating cluster "), name("deleted cluster "));
        names.push(name("creating cluster "));
    }
    assert_ne!(names[0], names[1]);
    let calls = machine.0.environment.read("calls");
    for name in names {
        assert_eq!(calls.matches(&format!("kind delete cluster --name {name} ")).count(), 1, "{calls}");
    }
}

#[test]
fn an_invalid_kubeconfig_is_not_printed() {
    let machine = Machine::new().with("is-garbage");
    let output = machine.test("k3d", &["--debug"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    assert!(
        output.stderr.contains("printed no kubeconfig") && !output.stderr.contains("hunter2"),
        "{output}"
    );
    assert!(machine.calls().ends_with("k3d cluster delete NAME\nk3d cluster list --output json\n"));
}

#[test]
fn the_error_for_a_missing_program_links_to_its_installation() {
    let machine = Machine::new();
    machine.remove("bin/kind");
    let output = machine.test("kind", &[]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
    assert!(
        output.stderr.starts_with("error: `kind` is not on the PATH: see https://kind.sigs.k8s.io/"),
        "{output}"
    );
}

#[test]
fn a_later_run_does_not_delete_a_kept_cluster() {
    let machine = Machine::new();
    let kept = machine.test("kind", &["--keep"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    let notice = Regex::new(
        r"cluster (windtunnel-\S+) stays; to reach it: kubectl --kubeconfig (\S+) get nodes; to remove it: kind delete cluster --name ",
    );
    let notice = notice.unwrap().captures(&kept.stderr).unwrap_or_else(|| panic!("{kept}"));
    let mode = std::fs::metadata(&notice[2]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!machine.calls().contains("delete"));
    // The script returns the same cluster again.
    let rejected = machine.test("kind", &[]);
    assert!(rejected.stderr.contains("(--keep): remove them with `windtunnel clean`"), "{rejected}");
    assert_eq!(machine.calls().matches("delete").count(), 1);
    assert!(!rejected.stderr.contains(&format!("deleted cluster {}", &notice[1])), "{rejected}");
}

#[test]
fn a_run_ends_the_orphaned_program_of_a_killed_process_and_deletes_its_cluster() {
    let machine = Machine::new().with("kind-hangs");
    let mut child = machine.hanging();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!machine.calls().contains("delete"));
    assert_eq!(machine.clusters().len(), 1);
    // The program of the killed process is still creating its cluster, and would never end.
    let next = machine.test("k3d", &[]);
    assert_eq!(next.code, Some(0), "{next}");
    let ended = next.stderr.find("ended the program that was still at work on cluster windtunnel-");
    let deleted = next.stderr.find("deleted cluster windtunnel-");
    let created = next.stderr.find("creating cluster windtunnel-");
    assert!(ended.is_some() && ended < deleted && deleted < created, "{next}");
    let calls = machine.calls();
    let deleted = calls.find("kind delete cluster --name NAME").unwrap_or_else(|| panic!("{calls}"));
    assert!(deleted < calls.find("k3d cluster create").unwrap(), "{calls}");
    assert!(machine.clusters().is_empty());
    let clean = machine.clean();
    assert_eq!((clean.code, clean.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_later_start_deletes_a_cluster_that_outlived_its_deletion() {
    let machine = Machine::new().with("lies");
    let first = machine.test("kind", &[]);
    assert_eq!(first.code, Some(0), "{first}");
    assert!(!first.stderr.contains("deleted cluster"), "{first}");
    let problem = Regex::new(
        r"\ncluster (windtunnel-\S+) is not deleted: `kind delete cluster --name .*` succeeded, but the cluster still exists; to try again: windtunnel clean\n",
    );
    let problem = problem.unwrap().captures(&first.stderr).unwrap_or_else(|| panic!("{first}"));
    assert_eq!(machine.clusters(), [&problem[1]]);
    machine.remove("lies");
    let second = machine.test("k3d", &[]);
    assert_eq!(second.code, Some(0), "{second}");
    assert!(second.stderr.contains(&format!("deleted cluster {}\n", &problem[1])), "{second}");
    assert!(machine.clusters().is_empty());
}

#[test]
fn clean_fails_until_the_program_lists_the_cluster_no_more() {
    let machine = Machine::new().with("lies");
    assert_eq!(machine.test("kind", &[]).code, Some(0));
    for (file, problem) in [
        ("lies", "succeeded, but the cluster still exists; to try again: windtunnel clean"),
        ("list-fails", "ERROR: no daemon; to try again: windtunnel clean"),
    ] {
        machine.0.environment.write(file, "");
        let clean = machine.clean();
        assert_eq!(clean.code, Some(1), "{clean}");
        assert!(clean.stderr.contains(" is not deleted: ") && clean.stderr.contains(problem), "{clean}");
    }
    machine.remove("lies");
    machine.remove("list-fails");
    let clean = machine.clean();
    assert_eq!(clean.code, Some(0), "{clean}");
    assert!(clean.stderr.contains("\ndeleted cluster windtunnel-"), "{clean}");
    assert_eq!(machine.clean().stderr, "");
}

#[test]
fn an_interrupted_process_deletes_its_unfinished_cluster() {
    let machine = Machine::new().with("kind-hangs");
    let mut child = machine.hanging();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut stderr_text = String::new();
    stderr.read_line(&mut stderr_text).unwrap();
    assert!(stderr_text.starts_with("creating cluster windtunnel-"), "{stderr_text}");
    signal(&child, "-INT");
    stderr.read_to_string(&mut stderr_text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr_text}");
    let (first, rest) = stderr_text.split_once('\n').unwrap();
    assert!(rest.starts_with("interrupted: cleaning up\ndeleted cluster windtunnel-"), "{first}\n{rest}");
    assert_eq!(rest.lines().count(), 2, "{rest}");
    let last = "kind delete cluster --name NAME --kubeconfig DIR/NAME.kubeconfig\nkind get clusters\n";
    assert!(machine.calls().ends_with(last));
}
