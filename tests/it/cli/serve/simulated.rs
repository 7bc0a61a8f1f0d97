//! A simulated cluster behind the socket, updated by an unchanged client.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::{Served, TestEnvironment, client, run};
use crate::cli::payloads::write_payload;

fn api(client: &kube::Client, group: &str, kind: &str) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind)))
}

const CONFIG: &str = "config.openshift.io";

/// The newest entry of the history: version and state.
fn newest(version: &DynamicObject) -> (&str, &str) {
    let entry = &version.data["status"]["history"][0];
    (entry["version"].as_str().unwrap_or_default(), entry["state"].as_str().unwrap_or_default())
}

/// The number of lines on standard error, which are about the clock.
fn about_clock(err: &str) -> usize {
    assert!(err.lines().all(|line| line.starts_with("the cluster's clock ")), "{err}");
    err.lines().count()
}

#[test]
fn a_served_cluster_updates_on_request() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "3600x", "--kubeconfig", "config"];
    let served = Served::start(&environment, &arguments);
    run(async {
        let client = client(&environment.read("config")).await;
        assert_eq!(client.apiserver_version().await.unwrap().minor, "31");
        let versions = api(&client, CONFIG, "ClusterVersion");
        let version = versions.get("version").await.unwrap();
        assert_eq!(newest(&version), ("4.18.3", "Completed"));
        assert_eq!(api(&client, "", "Node").list(&ListParams::default()).await.unwrap().items.len(), 6);
        let operators = api(&client, CONFIG, "ClusterOperator").list(&ListParams::default()).await.unwrap();
        assert!(operators.items.len() > 30, "{}", operators.items.len());
        let offered = version.data["status"]["availableUpdates"].as_array().cloned().unwrap_or_default();
        let offered: Vec<&Value> = offered.iter().map(|update| &update["version"]).collect();
        assert!(offered.contains(&&json!("4.18.4")), "{offered:?}");
        let patch = Patch::Merge(json!({ "spec": { "desiredUpdate": { "version": "4.18.4" } } }));
        versions.patch("version", &PatchParams::default(), &patch).await.unwrap();
        let updated = async {
            while newest(&versions.get("version").await.unwrap()) != ("4.18.4", "Completed") {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(120), updated).await.expect("no update");
        let operators = api(&client, CONFIG, "ClusterOperator").list(&ListParams::default()).await.unwrap();
        assert!(
            operators
                .items
                .iter()
                .all(|operator| operator.data["status"]["versions"][0]["version"] == "4.18.4")
        );
    });
    served.signal("-TERM");
    let (status, _, err) = served.end();
    assert_eq!((status.code(), about_clock(&err)), (Some(0), 1), "{err}");
}

#[test]
fn metrics_of_the_operator_are_served_through_the_api_server() {
    let environment = TestEnvironment::new();
    let _served = Served::start(&environment, &["--version", "4.18.3", "--kubeconfig", "config"]);
    run(async {
        let client = client(&environment.read("config")).await;
        let namespace = "/api/v1/namespaces/openshift-cluster-version";
        let get = async |path: String| {
            let request = http::Request::get(format!("{namespace}/{path}")).body(Vec::new()).unwrap();
            match client.request_text(request).await {
                Ok(text) => (200, text),
                Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
                Err(other) => panic!("{path}: {other}"),
            }
        };
        let service = |id: &str| format!("services/{id}/proxy/metrics");
        let (code, metrics) = get(service("https:cluster-version-operator:metrics")).await;
        assert_eq!(code, 200, "{metrics}");
        for wanted in [
            "# TYPE cluster_operator_up gauge\n",
            "\ncluster_operator_conditions{condition=\"Available\",name=\"etcd\",reason=\"AsExpected\"} 1\n",
            "\ncluster_version_capability{name=\"Build\"} 1\n",
        ] {
            assert!(metrics.contains(wanted), "{wanted} is not in {metrics}");
        }
        assert!(!metrics.contains("job="), "labels of a scrape are missing");
        let by_number = get(service("https:cluster-version-operator:9099")).await;
        assert_eq!(by_number.0, 200);
        let pods: Api<DynamicObject> = Api::namespaced_with(
            client.clone(),
            "openshift-cluster-version",
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod")),
        );
        let pod = pods.list(&ListParams::default()).await.unwrap().items.remove(0).metadata.name.unwrap();
        assert_eq!(get(format!("pods/https:{pod}:9099/proxy/metrics")).await.0, 200);
        // Metrics are served only over HTTPS, and only at one path.
        assert_eq!(get(service("cluster-version-operator:9099")).await.0, 400);
        assert_eq!(get(format!("pods/https:{pod}:9099/proxy/healthz")).await.0, 404);
        assert_eq!(get(service("https:nobody:9099")).await.0, 404);
    });
}

#[test]
fn a_scenarios_cluster_is_served_without_its_timeline() {
    let text = "name: n\ncluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 0}}\nreleases: {4.14.8: {}}\n\
                timeline:\n- update: {to: 4.14.8}\n";
    let environment = TestEnvironment::with(&[("s.yaml", text)]);
    let _served = Served::start(&environment, &["--scenario", "s.yaml", "--kubeconfig", "config"]);
    run(async {
        let client = client(&environment.read("config")).await;
        assert_eq!(api(&client, "", "Node").list(&ListParams::default()).await.unwrap().items.len(), 1);
        let version = api(&client, CONFIG, "ClusterVersion").get("version").await.unwrap();
        assert_eq!(newest(&version), ("4.14.1", "Completed"));
        assert!(version.data["spec"]["desiredUpdate"].is_null());
    });
}

#[test]
fn an_invalid_cluster_is_reported() {
    let environment = TestEnvironment::with(&[("s.yaml", "name: n\n")]);
    let check = |arguments: &[&str], expected: &str| {
        let output = environment.run(&[&["serve", "--port", "0"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(&["--version", "4.99.0"], "error: --version: ");
    check(&["--version", "4"], "invalid value '4' for '--version <4.N.Z>'");
    check(&["--version", "4.18.3", "--bare"], "cannot be used with");
    check(&["--version", "4.18.3", "--data-dir", "d"], "cannot be used with");
    check(&["--version", "4.18.3", "--release", "5.1.1"], "error: --release: ");
    check(&["--version", "4.18.3", "--speed", "0x"], "expected a factor from 0.01x to 100000x");
    check(&["--scenario", "s.yaml"], "error: s.yaml:1:1: a scenario needs `cluster`");
}

#[test]
fn a_release_from_a_payload_is_an_update_target() {
    let environment = TestEnvironment::new();
    write_payload(&environment, "payload", "4.18.9", 2);
    let arguments = ["--version", "4.18.3", "--payload", "4.18.9=payload", "--kubeconfig", "config"];
    let served = Served::start(&environment, &arguments);
    run(async {
        let client = client(&environment.read("config")).await;
        let version = api(&client, CONFIG, "ClusterVersion").get("version").await.unwrap();
        let offered = version.data["status"]["availableUpdates"].as_array().cloned().unwrap_or_default();
        let offered: Vec<&Value> = offered.iter().map(|update| &update["version"]).collect();
        assert!(offered.contains(&&json!("4.18.9")), "{offered:?}");
    });
    served.signal("-TERM");
    let (status, _, err) = served.end();
    assert_eq!((status.code(), err.as_str()), (Some(0), ""));
}
