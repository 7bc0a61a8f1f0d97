//! A cluster in a container that is paused, disconnected and stopped during a run.

use std::process::{Child, Stdio};
use std::time::Duration;

use super::{Boxed, docker, is_ours_there};

/// Begins a run, and returns it once it has created its nodes.
#[expect(clippy::zombie_processes, reason = "whoever asks waits for its end")]
async fn begun(boxed: &Boxed, feature: &str) -> Child {
    let mut command = boxed.environment.command(&Boxed::arguments(feature));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let client = crate::cli::serve::client(&boxed.environment.read("config")).await;
    let nodes: kube::Api<k8s_openapi::api::core::v1::Node> = kube::Api::all(client);
    for _ in 0..3000 {
        if !nodes.list(&kube::api::ListParams::default()).await.unwrap().items.is_empty() {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no run begins");
}

/// Waits for the end of a run. Returns its exit code and output.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn time_stands_still_while_the_cluster_is_paused_and_the_run_passes() {
    if !is_ours_there() {
        return;
    }
    let boxed = Boxed::start().await;
    let mut child = begun(&boxed, "f.feature").await;
    boxed.container.pause().await.unwrap();
    // Longer than the whole run takes if the cluster can be reached: at this speed two hours are two seconds.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(child.try_wait().unwrap().is_none(), "it does not wait");
    boxed.container.unpause().await.unwrap();
    let (code, text) = ended(child);
    assert_eq!(code, Some(0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_when_its_cluster_can_be_reached_again() {
    if !is_ours_there() {
        return;
    }
    let boxed = Boxed::start().await;
    let mut child = begun(&boxed, "f.feature").await;
    docker(&["network", "disconnect", "bridge", boxed.container.id()]).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(child.try_wait().unwrap().is_none(), "it does not wait");
    docker(&["network", "connect", "bridge", boxed.container.id()]).unwrap();
    let (code, text) = ended(child);
    assert_eq!(code, Some(0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_fails_with_the_reason_when_its_cluster_is_stopped() {
    if !is_ours_there() {
        return;
    }
    let boxed = Boxed::start().await;
    let endless = "Feature: f\n  Scenario: s\n    Given a 4.14.1 cluster with 1 control-plane node and 1 worker\n    \
                   When 87000 hours pass\n";
    boxed.environment.write("endless.feature", endless);
    let child = begun(&boxed, "endless.feature").await;
    boxed.container.stop().await.unwrap();
    let (code, text) = ended(child);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be reached"), "{text}");
}
