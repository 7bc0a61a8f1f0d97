//! `windtunnel serve`: a server that prints its URL, answers requests, and ends on a signal.

mod clock;
pub(crate) mod components;
pub(crate) mod controllers;
mod dumped;
#[cfg(unix)]
mod full;
mod monitored;
mod pods;
#[cfg(unix)]
mod programs;
mod real_controllers;
mod restart;
mod rights;
mod simulated;
mod startup_objects;
#[cfg(unix)]
mod targets;
mod time;
mod timeline;
mod usage;
mod users;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::environment::TestEnvironment;

/// The running server, killed if a test fails.
pub(crate) struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// `https://127.0.0.1:PORT`
    pub(crate) url: String,
}

impl Served {
    /// Starts the program and waits until it serves.
    pub(crate) fn start(environment: &TestEnvironment, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--port", "0"], arguments].concat();
        let mut child =
            environment.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let url = line.strip_prefix("serving ").unwrap_or_else(|| panic!("found {line:?}")).trim_end();
        Self { url: url.to_owned(), child, stdout }
    }

    /// The next line of stdout.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent =
            std::process::Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end. Returns the exit status, the stdout after the first line, and stderr.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap(), out, err)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// A client from a kubeconfig.
pub(crate) async fn client(kubeconfig: &str) -> kube::Client {
    let config = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// The number of namespaces that a client of that kubeconfig sees.
fn namespaces(kubeconfig: &str) -> usize {
    run(async {
        let api: Api<Namespace> = Api::all(client(kubeconfig).await);
        api.list(&ListParams::default()).await.unwrap().items.len()
    })
}

#[test]
fn a_server_can_be_reached_by_its_kubeconfig_and_ends_on_sigterm() {
    let environment = TestEnvironment::new();
    let served = Served::start(&environment, &["--bare", "--kubeconfig", "config"]);
    assert_eq!(namespaces(&environment.read("config")), 4);
    served.signal("-TERM");
    let (status, out, err) = served.end();
    assert_eq!((status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
}

#[test]
fn a_server_ends_on_sigint_and_prints_its_token_without_a_kubeconfig() {
    let environment = TestEnvironment::new();
    let served = Served::start(&environment, &[]);
    served.signal("-INT");
    let (status, out, err) = served.end();
    assert_eq!((status.code(), out.as_str()), (Some(0), ""));
    assert!(err.starts_with("the administrator's token is ") && err.lines().count() == 1, "{err}");
    assert!(environment.files().is_empty());
}

#[test]
fn a_kubeconfig_is_replaced_or_merged_and_readable_only_by_its_owner() {
    let other = "clusters:\n- name: prod\n  cluster: {server: https://prod}\ncurrent-context: prod\n";
    let environment = TestEnvironment::with(&[("merged", other), ("replaced", other)]);
    let merged = Served::start(&environment, &["--kubeconfig", "merged", "--merge", "--token", "t-1"]);
    assert_eq!(namespaces(&environment.read("merged")), 4);
    assert!(environment.read("merged").contains("https://prod"));
    let replaced = Served::start(&environment, &["--kubeconfig", "replaced", "--token", "t-1"]);
    assert!(environment.read("replaced").contains("token: \"t-1\"\n"));
    assert!(!environment.read("replaced").contains("prod"));
    assert_ne!(merged.url, replaced.url);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(environment.work().join("replaced")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn startup_errors_of_a_server_are_reported() {
    let environment = TestEnvironment::with(&[("file", ""), ("no-kubeconfig", "- a\n")]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(&[&["serve"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(&["--port", &port], &format!("error: 127.0.0.1:{port}: cannot listen: Address already in use"));
    check(
        &["--port", "0", "--kubeconfig", "file/config"],
        "error: file/config: cannot be written: file is no folder",
    );
    check(
        &["--port", "0", "--kubeconfig", "missing/config"],
        "error: missing/config: cannot be written: there is no folder missing; create it first",
    );
    check(&["--port", "0", "--kubeconfig", "."], "error: .: cannot be written: ");
    check(&["--port", "0", "--kubeconfig", "no-kubeconfig", "--merge"], "error: no-kubeconfig:1:1: expected");
    check(&["--port", "0", "--token", "two words"], "error: --token: expected visible ASCII characters");
    check(&["--kubernetes", "1.99"], "expected a Kubernetes minor from 1.23 to 1.36");
    check(&["--port", "65536"], "invalid value '65536' for '--port <PORT>'");
    check(&["--address", "nowhere"], "invalid value 'nowhere' for '--address <IP>'");
    check(&["--merge"], "--kubeconfig <FILE>");
    assert_eq!(environment.files(), ["file", "no-kubeconfig"]);
}
