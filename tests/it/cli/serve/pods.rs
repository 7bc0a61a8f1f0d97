//! The pods of a served cluster: those of every Deployment and DaemonSet that says it is available, with logs.

use kube::Config;
use serde_json::Value;

use super::monitored::{config, get, send};
use super::{Served, TestEnvironment, run};

async fn items(config: &Config, path: &str) -> Vec<Value> {
    let (code, list) = get(config, path).await;
    assert_eq!(code, 200, "{path}: {list}");
    list["items"].as_array().unwrap().clone()
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn count(object: &Value, field: &str) -> usize {
    object["status"][field].as_u64().and_then(|count| count.try_into().ok()).unwrap_or(0)
}

/// Whether a pod has all labels of a workload's selector.
fn is_selected(pod: &Value, workload: &Value) -> bool {
    let labels = workload["spec"]["selector"]["matchLabels"].as_object().unwrap();
    text(pod, "/metadata/namespace") == text(workload, "/metadata/namespace")
        && labels.iter().all(|(name, value)| pod["metadata"]["labels"].get(name) == Some(value))
}

/// Checks that all workloads are available, each with as many ready pods as it says; returns the pods.
async fn check_workloads(config: &Config) -> Vec<Value> {
    let pods = items(config, "/api/v1/pods").await;
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        { conditions }.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    let mut workloads = 0;
    for (path, wanted, available) in [
        ("deployments", "replicas", "availableReplicas"),
        ("daemonsets", "desiredNumberScheduled", "numberAvailable"),
    ] {
        for workload in items(config, &format!("/apis/apps/v1/{path}")).await {
            let ready = pods.iter().filter(|pod| is_selected(pod, &workload)).filter(is_ready).count();
            let (wanted, available) = (count(&workload, wanted), count(&workload, available));
            assert!(
                wanted > 0 && wanted == available && available == ready,
                "{ready} ready pods of {workload}"
            );
            workloads += 1;
        }
    }
    assert!(workloads > 30, "{workloads} workloads");
    pods
}

/// Reads the log of a pod's first container.
async fn log(config: &Config, pod: &Value) -> (u16, String) {
    let (namespace, name) = (text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
    let container = text(pod, "/spec/containers/0/name");
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/log?container={container}");
    let (code, log) = get(config, &path).await;
    (code, log.as_str().map_or_else(|| log.to_string(), str::to_owned))
}

#[test]
fn every_available_workload_has_pods_with_logs_before_and_after_an_update() {
    let environment = TestEnvironment::new();
    let arguments = ["--version", "4.18.3", "--speed", "60x", "--kubeconfig", "config"];
    let _served = Served::start(&environment, &arguments);
    let clock = |change: &[&str]| {
        let output = environment.run(&[&["clock"], change, &["--kubeconfig", "config"]].concat());
        assert_eq!(output.code, Some(0), "{output}");
    };
    let jump = |span: &str| clock(&["jump", span]);
    // Workloads and pods are read one after the other, and must not change in between.
    clock(&["pause"]);
    let admin = run(config(&environment));
    jump("3m");
    let pods = run(check_workloads(&admin));
    let named = |pods: &[Value], start: &str| {
        pods.iter().filter(|pod| text(pod, "/metadata/name").starts_with(start)).cloned().collect::<Vec<_>>()
    };
    let expected = [
        ("machine-config-daemon-", 6),
        ("machine-config-server-", 3),
        ("machine-config-controller-", 1),
        ("router-default-", 2),
        ("oauth-openshift-", 3),
        ("dns-default-", 6),
    ];
    for (start, expected) in expected {
        assert_eq!(named(&pods, start).len(), expected, "{start}");
    }
    let images = |pods: &[Value]| -> Vec<Value> {
        named(pods, "dns-default-").iter().map(|pod| pod["spec"]["containers"][0]["image"].clone()).collect()
    };
    let before = images(&pods);
    for pod in &pods {
        let (code, log) = run(log(&admin, pod));
        assert!(code == 200 && !log.is_empty(), "{}: {code} {log}", text(pod, "/metadata/name"));
    }
    let updating = environment.run(&["adm", "upgrade", "--kubeconfig", "config", "--to", "4.18.4"]);
    assert_eq!(updating.code, Some(0), "{updating}");
    jump("2h");
    let version = run(get(&admin, "/apis/config.openshift.io/v1/clusterversions/version")).1;
    assert_eq!(text(&version, "/status/history/0/state"), "Completed", "{version}");
    let pods = run(check_workloads(&admin));
    assert!(images(&pods).iter().all(|image| !before.contains(image)), "{before:?}");
    let degraded = r#"{"metadata": {"annotations": {"windtunnel.dev/fault": "degraded"}}}"#;
    let patch = http::Request::patch("/apis/config.openshift.io/v1/clusteroperators/etcd")
        .header("Content-Type", "application/merge-patch+json");
    assert_eq!(run(send(&admin, patch, degraded)).0, 200);
    jump("10m");
    let (_, lines) = run(log(&admin, &named(&pods, "etcd-operator-")[0]));
    assert!(lines.contains("clusteroperator/etcd diff {\"status\":{\"conditions\":["), "{lines}");
    assert!(lines.contains("\"type\":\"Degraded\""), "{lines}");
    let daemon = &named(&pods, "machine-config-daemon-")[0];
    let (_, lines) = run(log(&admin, daemon));
    assert!(lines.contains("daemon"), "{lines}");
}
