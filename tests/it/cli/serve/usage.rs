//! `metrics.k8s.io` of a served cluster.

use kube::Client;
use serde_json::Value;

use super::users::kubectl;
use super::{Served, TestEnvironment, client, run};

async fn read(client: &Client, path: &str) -> Value {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn nodes_and_running_pods_have_a_usage() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--version", "4.18.3", "--kubeconfig", "config"]);
    let usage = run(async {
        let client = client(&environment.read("config")).await;
        let group = read(&client, "/apis/metrics.k8s.io/v1beta1").await;
        assert_eq!(group["resources"].as_array().unwrap().len(), 2, "{group}");
        assert_eq!(group["resources"][0]["verbs"], serde_json::json!(["get", "list"]));
        let nodes = read(&client, "/apis/metrics.k8s.io/v1beta1/nodes").await;
        assert_eq!(
            (&nodes["kind"], nodes["items"].as_array().unwrap().len()),
            (&"NodeMetricsList".into(), 6)
        );
        let namespace = "/apis/metrics.k8s.io/v1beta1/namespaces/openshift-cluster-version/pods";
        let pods = read(&client, namespace).await;
        let name = pods["items"][0]["metadata"]["name"].as_str().unwrap();
        let pod = read(&client, &format!("{namespace}/{name}")).await;
        assert_eq!(pod["containers"], pods["items"][0]["containers"]);
        let none = read(&client, &format!("{namespace}?labelSelector=a%3Db")).await;
        assert_eq!(none["items"].as_array().map(Vec::len), Some(0));
        let request = http::Request::get(format!("{namespace}?watch=true")).body(Vec::new()).unwrap();
        let kube::Error::Api(refused) = client.request::<Value>(request).await.unwrap_err() else { panic!() };
        assert_eq!(refused.code, 405, "metrics-server has no watch");
        pod["containers"][0]["usage"]["cpu"].as_str().unwrap().to_owned()
    });
    assert!(usage.ends_with('m'), "{usage}");
    let Some(top) = kubectl(&environment, &["top", "nodes"]) else { return };
    assert!(top.starts_with("NAME ") && top.contains("CPU(cores)") && top.lines().count() == 7, "{top}");
    let top = kubectl(&environment, &["top", "pods", "-A", "--containers", "--sum"]).unwrap();
    assert!(top.contains("cluster-version-operator"), "{top}");
    let listed = kubectl(&environment, &["get", "nodes.metrics.k8s.io"]).unwrap();
    assert!(listed.starts_with("NAME ") && listed.contains(" WINDOW\n"), "{listed}");
}

#[test]
fn a_bare_server_has_neither_metrics_nor_projects() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--bare", "--kubeconfig", "config"]);
    run(async {
        let client = client(&environment.read("config")).await;
        let groups = read(&client, "/apis").await;
        let text = groups.to_string();
        assert!(!text.contains("metrics.k8s.io") && !text.contains("openshift.io"), "{text}");
    });
}
