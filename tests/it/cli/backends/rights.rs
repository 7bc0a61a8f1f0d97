//! A cluster without the node authorizer, like the API servers of test suites.

use std::sync::Arc;

use windtunnel_apiserver::https::{self, Settings};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, AuthorizationMode};
use windtunnel_core::clock::{Clock as _, WallClock};

use super::FEATURE;
use crate::cli::environment::TestEnvironment;

#[tokio::test(flavor = "multi_thread")]
async fn kubelets_have_their_rights_during_the_run() {
    let server = ApiServer::builder().authorization_mode(AuthorizationMode::Rbac).build(WallClock.now());
    let shared = Shared::new(server, Arc::new(WallClock));
    let serving = https::serve(shared, Settings::default()).await.unwrap();
    let feature = FEATURE.split("\n\n  Scenario: The API").next().unwrap();
    let environment = TestEnvironment::with(&[("f.feature", feature), ("config", &serving.kubeconfig())]);
    let output = tokio::task::spawn_blocking(move || {
        let place = ["test", "f.feature", "--backend", "kubeconfig", "--kubeconfig", "config"];
        let how = ["--context", "windtunnel", "--speed", "100000x", "--writes-per-second", "5000"];
        environment.run(&[place, how].concat())
    });
    let output = output.await.unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let client = kube::Client::try_from(config(&serving.kubeconfig()).await).unwrap();
    let bindings: kube::Api<k8s_openapi::api::rbac::v1::ClusterRoleBinding> = kube::Api::all(client);
    assert!(bindings.get_opt("windtunnel:nodes").await.unwrap().is_none());
    serving.stop().await;
}

async fn config(kubeconfig: &str) -> kube::Config {
    let kubeconfig = kube::config::Kubeconfig::from_yaml(kubeconfig).unwrap();
    kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap()
}
