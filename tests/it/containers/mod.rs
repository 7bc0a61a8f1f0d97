//! Windtunnel's image on a Docker engine, and k3s: runs whose cluster is a container that is paused,
//! disconnected, stopped or left behind.
//!
//! Without an engine, or without the image that `.ci/image` builds, these tests print that and do nothing.

mod cleanup;
mod faults;
mod jobs;

use std::process::Command;

use testcontainers_modules::k3s::K3s;
use testcontainers_modules::testcontainers::core::{IntoContainerPort as _, WaitFor};
use testcontainers_modules::testcontainers::runners::AsyncRunner as _;
use testcontainers_modules::testcontainers::{ContainerAsync, GenericImage, ImageExt as _};

use crate::cli::environment::{Output, TestEnvironment};
use crate::skipped::skipped;

/// The image that `.ci/image` builds.
const IMAGE: (&str, &str) = ("windtunnel", "latest");
const TOKEN: &str = "container-test";

/// An update that passes on every backend.
const FEATURE: &str = r#"Feature: An update on every backend
  Scenario: An update completes
    Given a 4.14.1 cluster with 1 control-plane node and 1 worker
    And release 4.14.8 exists
    When I update to 4.14.8
    Then within 2 hours ClusterVersion condition Progressing is False with message "Cluster version is 4.14.8"
    And ClusterVersion field "status.history[0].state" is "Completed"
"#;

/// Runs the Docker client. Returns its output.
fn docker(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("docker").args(arguments).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Whether an engine with this image exists. Reports the test as skipped if not.
fn has_image(image: &str) -> bool {
    let engine = docker(&["version", "--format", "{{.Server.Version}}"]);
    let found = engine.map_err(|why| format!("Docker engine ({why})")).and_then(|_| {
        docker(&["image", "inspect", image]).map_err(|_| format!("image {image} in the Docker engine"))
    });
    if let Err(why) = &found {
        skipped(why);
    }
    found.is_ok()
}

fn has_our_image() -> bool {
    has_image(&format!("{}:{}", IMAGE.0, IMAGE.1))
}

/// An API server in a container of windtunnel's image.
struct ContainerServer {
    container: ContainerAsync<GenericImage>,
    environment: TestEnvironment,
}

impl ContainerServer {
    async fn start() -> Self {
        let (container, port) = Self::container().await;
        let mut kubeconfig = Vec::new();
        container.copy_file_from("/run/windtunnel/kubeconfig", &mut kubeconfig).await.unwrap();
        let kubeconfig = String::from_utf8(kubeconfig).unwrap().replace(":6443", &format!(":{port}"));
        let environment = TestEnvironment::with(&[("f.feature", FEATURE), ("config", &kubeconfig)]);
        Self { container, environment }
    }

    /// A container with a port that stays the same when it is disconnected and connected again. If another
    /// process takes the port first, another port is tried.
    async fn container() -> (ContainerAsync<GenericImage>, u16) {
        let mut failed = None;
        for _ in 0..5 {
            let image = GenericImage::new(IMAGE.0, IMAGE.1)
                .with_exposed_port(6443.tcp())
                .with_wait_for(WaitFor::message_on_stdout("serving https://"));
            let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let image = image.with_env_var("WINDTUNNEL_TOKEN", TOKEN).with_mapped_port(port, 6443.tcp());
            match image.start().await {
                Ok(container) => return (container, port),
                Err(error) => failed = Some(error),
            }
        }
        panic!("{failed:?}");
    }

    fn arguments(feature: &str) -> Vec<&str> {
        let place =
            ["test", feature, "--backend", "kubeconfig", "--kubeconfig", "config", "--context", "windtunnel"];
        [&place[..], &["--speed", "3600x", "--writes-per-second", "5000"]].concat()
    }

    fn test(&self) -> Output {
        self.environment.run(&Self::arguments("f.feature"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feature_passes_against_our_image_started_by_testcontainers() {
    if !has_our_image() {
        return;
    }
    let server = ContainerServer::start().await;
    let output = server.test();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("1 passed, 0 failed;"), "{output}");
    let user = docker(&["inspect", "--format", "{{.Config.User}}", server.container.id()]).unwrap();
    assert_eq!(user, "65532:65532");
    server.container.stop().await.unwrap();
    assert_eq!(server.container.exit_code().await.unwrap(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_serves_as_any_user_in_the_group_of_root() {
    if !has_our_image() {
        return;
    }
    let image = GenericImage::new(IMAGE.0, IMAGE.1)
        .with_wait_for(WaitFor::message_on_stdout("serving https://"))
        .with_user("1000660000:0");
    image.start().await.unwrap().stop().await.unwrap();
}

/// Has never run: the image of k3s was not available where the test was written. docs/faithfulness.md says which
/// part of the way to k3s was tried with another image.
#[tokio::test(flavor = "multi_thread")]
async fn a_feature_passes_on_k3s() {
    const TAG: &str = "v1.35.0-k3s1";
    if !has_image(&format!("rancher/k3s:{TAG}")) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let k3s = K3s::default().with_conf_mount(folder.path()).with_tag(TAG).with_privileged(true);
    let k3s = k3s.with_userns_mode("host").start().await.unwrap();
    let port = k3s.get_host_port_ipv4(6443).await.unwrap();
    let kubeconfig = std::fs::read_to_string(folder.path().join("k3s.yaml")).unwrap();
    let kubeconfig = kubeconfig.replace("127.0.0.1:6443", &format!("127.0.0.1:{port}"));
    let environment = TestEnvironment::with(&[("f.feature", FEATURE), ("config", &kubeconfig)]);
    let place =
        ["test", "f.feature", "--backend", "kubeconfig", "--kubeconfig", "config", "--context", "default"];
    let output = environment.run(&[&place[..], &["--speed", "60x"]].concat());
    assert_eq!(output.code, Some(0), "{output}");
}
