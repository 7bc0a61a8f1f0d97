//! A cluster in a container that is paused, disconnected and stopped during a run.

use std::process::{Child, Stdio};
use std::time::Duration;

use super::{ContainerServer, docker, has_our_image};

/// Starts a run. Returns its process once the run has created nodes.
#[expect(clippy::zombie_processes, reason = "the caller waits for the process")]
async fn start_run(server: &ContainerServer, feature: &str) -> Child {
    let mut command = server.environment.command(&ContainerServer::arguments(feature));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let client = crate::cli::serve::client(&server.environment.read("config")).await;
    let nodes: kube::Api<k8s_openapi::api::core::v1::Node> = kube::Api::all(client);
    for _ in 0..3000 {
        if !nodes.list(&kube::api::ListParams::default()).await.unwrap().items.is_empty() {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the run created no nodes");
}

/// Waits for the end of a run. Returns its exit code and output.
fn wait_for_end(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_while_its_cluster_is_paused_and_then_passes() {
    if !has_our_image() {
        return;
    }
    let server = ContainerServer::start().await;
    let mut child = start_run(&server, "f.feature").await;
    server.container.pause().await.unwrap();
    // At this speed two hours are two seconds, so a run that did not wait would have ended.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(child.try_wait().unwrap().is_none(), "the run did not wait");
    server.container.unpause().await.unwrap();
    let (code, text) = wait_for_end(child);
    assert_eq!(code, Some(0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_when_its_cluster_can_be_reached_again() {
    if !has_our_image() {
        return;
    }
    let server = ContainerServer::start().await;
    let mut child = start_run(&server, "f.feature").await;
    docker(&["network", "disconnect", "bridge", server.container.id()]).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(child.try_wait().unwrap().is_none(), "the run did not wait");
    docker(&["network", "connect", "bridge", server.container.id()]).unwrap();
    let (code, text) = wait_for_end(child);
    assert_eq!(code, Some(0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_fails_with_the_reason_when_its_cluster_is_stopped() {
    if !has_our_image() {
        return;
    }
    let server = ContainerServer::start().await;
    let endless = "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster with 1 control-plane node and 1 worker\n    \
                   When 87000 hours pass\n";
    server.environment.write("endless.feature", endless);
    let child = start_run(&server, "endless.feature").await;
    server.container.stop().await.unwrap();
    let (code, text) = wait_for_end(child);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be reached"), "{text}");
}
