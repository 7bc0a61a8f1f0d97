//! Tests that each pass puts the current proxy settings into workloads.

use windtunnel_core::resources::{DEPLOYMENTS, PROXIES};

use super::*;

fn deployment(into: &str) -> Task {
    let annotations = json!({ "config.openshift.io/inject-proxy": into });
    let containers = json!([{ "name": "main", "env": [{ "name": "A" }] }]);
    let workload = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "lamp", "namespace": "b", "annotations": annotations },
        "spec": { "template": { "spec": { "containers": containers } } },
    });
    object("10", "lamp", workload)
}

fn set_proxy(cluster: &mut Cluster, proxy: &str) {
    let status = json!({ "httpProxy": proxy });
    cluster.put(&PROXIES, json!({ "metadata": { "name": "cluster" }, "status": status }));
}

/// The names of the Deployment's environment variables.
fn variables(cluster: &Cluster) -> String {
    let object = cluster.view.get(&DEPLOYMENTS, "b", "lamp").unwrap();
    let variables = object.list("/spec/template/spec/containers/0/env").iter();
    variables.map(|variable| variable["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_next_pass_applies_a_new_changed_or_removed_proxy() {
    let mut cluster = Cluster::new(ApplyMode::Reconciling, vec![deployment("main")]);
    cluster.run(2 * R);
    assert_eq!(variables(&cluster), "A");
    for (proxy, expected) in
        [("http://p", "A HTTP_PROXY HTTPS_PROXY NO_PROXY"), ("http://q", "A HTTP_PROXY HTTPS_PROXY NO_PROXY")]
    {
        set_proxy(&mut cluster, proxy);
        assert_eq!(variables(cluster.run(R + 1)), expected);
        let object = cluster.view.get(&DEPLOYMENTS, "b", "lamp").unwrap();
        assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"], proxy);
    }
    cluster.run(5 * R);
    assert_eq!(cluster.log.len(), 3, "unchanged workloads are not written again: {:?}", cluster.log);
    set_proxy(&mut cluster, "");
    assert_eq!(variables(cluster.run(R + 1)), "A");
}

#[test]
fn a_missing_container_fails_the_manifest_only_if_there_is_a_proxy() {
    let mut cluster = Cluster::new(ApplyMode::Reconciling, vec![deployment("main,side")]);
    assert_eq!(cluster.run(R).failure(), ("", ""));
    set_proxy(&mut cluster, "http://p");
    let message = "Could not update deployment \"b/lamp\" (1 of 1)";
    assert_eq!(cluster.run(2 * R).failure(), ("UpdatePayloadFailed", message));
    assert_eq!(cluster.log.len(), 1, "{:?}", cluster.log);
}
