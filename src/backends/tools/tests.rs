//! Tests of the output of programs, and of the commands that are never run.

use std::sync::{Arc, Mutex};

use super::*;

/// A program that prints its arguments.
struct Echo;

impl Tool for Echo {
    fn program(&self) -> &'static str {
        "echo"
    }

    fn how_to_get(&self) -> &'static str {
        "it is everywhere"
    }

    fn version(&self) -> Vec<String> {
        words(&["echo 1.0\nmore"])
    }

    fn create(&self, name: &str, _: &str) -> Vec<String> {
        words(&["create", name])
    }

    fn delete(&self, name: &str, _: &str) -> Vec<String> {
        words(&["delete", name])
    }

    fn list(&self) -> Vec<String> {
        words(&["prod\nwindtunnel-a\nmy-windtunnel-b\n\nwindtunnel-c"])
    }

    fn names(&self, printed: &str) -> Option<Vec<String>> {
        lines(printed)
    }

    fn nodes(&self, _: &str) -> Vec<String> {
        words(&["<html>"])
    }

    fn node_names(&self, _: &str, printed: &str) -> Option<Vec<String>> {
        lines(printed)
    }

    fn load_image(&self, _: &str, _: &str) -> Option<Vec<String>> {
        None
    }

    fn kubeconfig(&self, commands: &Commands, _: &str, _: &ReportProgress) -> Result<String, BackendError> {
        commands.text(&["token: hunter2"], QUESTION)
    }
}

type DebugLines = Arc<Mutex<Vec<String>>>;

fn clusters(tool: Box<dyn Tool>) -> (Clusters, DebugLines) {
    let debug_lines = DebugLines::default();
    let debug: ReportProgress = {
        let debug_lines = Arc::clone(&debug_lines);
        Arc::new(move |line| debug_lines.lock().unwrap().push(line.to_owned()))
    };
    let commands = Commands::new(tool.program(), tool.how_to_get(), Path::new("nowhere"), debug);
    (Clusters { tool, commands, folder: PathBuf::from("nowhere") }, debug_lines)
}

#[test]
fn lists_and_changes_only_its_own_clusters() {
    let (clusters, debug_lines) = clusters(Box::new(Echo));
    assert_eq!(clusters.list().unwrap(), ["windtunnel-a", "windtunnel-c"]);
    debug_lines.lock().unwrap().clear();
    for name in ["prod", "my-windtunnel-b", ""] {
        let refused = [clusters.delete(name), clusters.create(name), clusters.load_image(name, "i")];
        assert!(refused.iter().all(|result| matches!(result, Err(BackendError::Refused(_)))), "{name}");
    }
    assert!(debug_lines.lock().unwrap().is_empty(), "a program was run");
    clusters.delete("windtunnel-b").unwrap();
    assert_eq!(
        debug_lines.lock().unwrap()[..2],
        ["run: echo delete windtunnel-b", "done: echo delete windtunnel-b"]
    );
    let error = clusters.delete("windtunnel-a").unwrap_err().to_string();
    assert_eq!(error, "`echo delete windtunnel-a` succeeded, but the cluster still exists");
}

#[test]
fn reports_unexpected_output_without_secrets() {
    let (clusters, debug_lines) = clusters(Box::new(Echo));
    assert_eq!(clusters.version().unwrap(), "echo 1.0");
    assert_eq!(
        clusters.nodes("windtunnel-a").unwrap_err().to_string(),
        "`echo <html>` printed no list of nodes"
    );
    debug_lines.lock().unwrap().clear();
    let error = clusters.kubeconfig("windtunnel-a").unwrap_err().to_string();
    assert!(error.ends_with("printed no kubeconfig") && !error.contains("hunter2"), "{error}");
    let k3d = k3d::K3d { image: None };
    assert_eq!((k3d.names("{}"), k3d.names("FATA[0000] no docker"), k3d.names("[{}]")), (None, None, None));
    assert_eq!(lines("Error: no such thing"), None);
}

#[test]
fn kills_a_slow_program_and_reports_a_missing_one() {
    let silent: ReportProgress = Arc::new(|_| {});
    let sleep = Commands::new("sleep", "", Path::new("nowhere"), Arc::clone(&silent));
    let error = sleep.run(&["1000"], Duration::from_millis(50)).unwrap_err().to_string();
    assert_eq!(error, "`sleep 1000` failed: it took longer than 0 s");
    let absent = Commands::new("windtunnel-no-such-program", "buy it", Path::new("nowhere"), silent);
    let error = absent.run(&[], QUESTION).unwrap_err();
    let expected = "`windtunnel-no-such-program` is not on the PATH: buy it";
    assert_eq!(error, BackendError::Missing(expected.to_owned()));
}

#[test]
fn uses_the_arguments_of_each_program() {
    let line = |words: Vec<String>| words.join(" ");
    let kind = kind::Kind { image: Some("node:v1".to_owned()) };
    let expected = "create cluster --name windtunnel-a --kubeconfig f --wait 5m --image node:v1";
    assert_eq!(line(kind.create("windtunnel-a", "f")), expected);
    assert_eq!(
        line(kind.load_image("windtunnel-a", "i").unwrap()),
        "load docker-image i --name windtunnel-a"
    );
    assert_eq!(kind.names("prod\nwindtunnel-a\n"), Some(words(&["prod", "windtunnel-a"])));
    let k3d = k3d::K3d { image: None };
    assert_eq!(line(k3d.load_image("windtunnel-a", "i").unwrap()), "image import i --cluster windtunnel-a");
    let nodes =
        r#"[{"name": "n0", "runtimeLabels": {"k3d.cluster": "a"}}, {"name": "n1", "runtimeLabels": {}}]"#;
    assert_eq!(k3d.node_names("a", nodes), Some(words(&["n0"])));
    let docker = docker::Docker(Recipe::k3s("k3s:1"));
    assert_eq!(
        line(docker.create("windtunnel-a", "f")),
        "run --detach --name windtunnel-a --label windtunnel.dev/cluster=windtunnel-a --privileged --userns host --tmpfs \
         /run --tmpfs /var/run --publish 127.0.0.1::6443 k3s:1 server --disable=traefik,servicelb,metrics-server \
         --tls-san=127.0.0.1"
    );
}
