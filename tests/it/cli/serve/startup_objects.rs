//! A simulated cluster of any release answers the first requests of a real cluster-version operator.

use kube::Client;

use super::{Served, TestEnvironment, client, run};

/// The first objects that it gets or lists, and those that its first pods need.
const NEEDED: &[&str] = &[
    "/apis/config.openshift.io/v1/featuregates",
    "/apis/config.openshift.io/v1/featuregates/cluster",
    "/apis/config.openshift.io/v1/apiservers",
    "/apis/config.openshift.io/v1/apiservers/cluster",
    "/apis/config.openshift.io/v1/clusterversions?fieldSelector=metadata.name%3Dversion",
    "/apis/config.openshift.io/v1/clusterversions/version",
    "/apis/config.openshift.io/v1/clusteroperators",
    "/apis/config.openshift.io/v1/proxies/cluster",
    "/apis/config.openshift.io/v1/infrastructures/cluster",
    "/api/v1/namespaces/openshift-cluster-version",
    "/api/v1/namespaces/openshift-config/configmaps",
    "/api/v1/namespaces/openshift-config/configmaps/admin-acks",
    "/api/v1/namespaces/openshift-config-managed/configmaps",
    "/api/v1/namespaces/openshift-config-managed/configmaps/admin-gates",
    "/apis/scheduling.k8s.io/v1/priorityclasses/openshift-user-critical",
];

async fn get(client: &Client, path: &str) -> Result<serde_json::Value, String> {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request(request).await.map_err(|error| error.to_string())
}

#[test]
fn the_oldest_a_middle_and_the_newest_release_have_everything_the_operator_needs() {
    for version in ["4.10.1", "4.11.1", "4.17.3", "5.0.1"] {
        let environment = TestEnvironment::new();
        let _served = Served::start(&environment, &["--version", version, "--kubeconfig", "config"]);
        run(async {
            let client = client(&environment.read("config")).await;
            for path in NEEDED {
                let found =
                    get(&client, path).await.unwrap_or_else(|error| panic!("{version} {path}: {error}"));
                let is_empty = found["items"].as_array().is_some_and(Vec::is_empty);
                assert!(!is_empty, "{version} {path}: expected at least one object");
            }
            let api_server = get(&client, "/apis/config.openshift.io/v1/apiservers/cluster").await.unwrap();
            assert_eq!(api_server["spec"]["audit"]["profile"], "Default", "{version}");
        });
    }
}
