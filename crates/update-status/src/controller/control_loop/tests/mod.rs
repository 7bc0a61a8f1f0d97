//! The controller against a few scripted URLs, under a paused clock.

mod server;

use serde_json::json;
use windtunnel_core::clock::VirtualClock;

use super::*;
use crate::controller::watch::CLUSTER_VERSION_CRD;
use crate::insight::published::{CONFIG_MAP, NAMESPACE};
use server::{CLUSTER_VERSIONS, CONFIG_MAPS, CRDS, MACHINE_CONFIGS, NODES, POOLS, Server};

/// Runs the controller next to `script`. Returns all requests except watches, as
/// `<seconds> <method> <last part of URL>`.
fn run_beside<F: Future<Output = ()>>(script: impl FnOnce(Server) -> F) -> Vec<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let server = Server::start();
        server.put(CRDS, crd(&["Console"]));
        server.put(CLUSTER_VERSIONS, cluster_version("Console"));
        server.serve_minor("31+");
        let clock = VirtualClock::starting_at("2024-01-01T00:00:00Z".parse().unwrap());
        let parts = Parts { client: server.client(), clock, alerts: None, observer: Arc::new(()) };
        let controller = tokio::spawn(run(parts));
        script(server.clone()).await;
        assert!(!controller.is_finished(), "the controller ended");
        controller.abort();
        server.log()
    })
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn crd(enumerated: &[&str]) -> Value {
    let lists = json!({"enabledCapabilities": {"items": {"enum": enumerated}}});
    let status = json!({"properties": {"capabilities": {"properties": lists}}});
    let schema = json!({"openAPIV3Schema": {"properties": {"status": status}}});
    let versions = json!([{"served": true, "storage": true, "schema": schema}]);
    json!({"metadata": {"name": CLUSTER_VERSION_CRD}, "spec": {"versions": versions}})
}

fn cluster_version(capability: &str) -> Value {
    let capabilities = json!({"enabledCapabilities": [capability]});
    json!({"metadata": {"name": "version"}, "status": {"capabilities": capabilities}})
}

fn config_map() -> Value {
    json!({"metadata": {"name": CONFIG_MAP, "namespace": NAMESPACE}})
}

/// The keys of the ConfigMap's data.
fn keys(server: &Server) -> Vec<String> {
    server.get(CONFIG_MAPS)["data"].as_object().map(|data| data.keys().cloned().collect()).unwrap_or_default()
}

/// The seconds at which the ConfigMap was patched.
fn patches(log: &[String]) -> Vec<&str> {
    log.iter().filter_map(|line| line.strip_suffix(" PATCH status-api-cm-prototype")).collect()
}

/// The initial lists of the watches.
const LISTS: [&str; 11] = [
    "0 GET customresourcedefinitions",
    "0 GET customresourcedefinitions",
    "0 GET customresourcedefinitions",
    "0 GET clusterversions",
    "0 GET clusteroperators",
    "0 GET deployments",
    "0 GET pods",
    "0 GET machineconfigs",
    "0 GET machineconfigpools",
    "0 GET nodes",
    "0 GET configmaps",
];

/// The first requests if there is a ConfigMap: its watch does not include its data.
fn start() -> Vec<&'static str> {
    [&LISTS[..], &["0 GET configmaps", "0 GET version"]].concat()
}

#[test]
fn writes_once_and_only_after_the_config_map_is_created() {
    let log = run_beside(async |server| {
        seconds(10).await;
        server.put(CONFIG_MAPS, config_map());
        seconds(200).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
        server.put(CLUSTER_VERSIONS, cluster_version("Console"));
        seconds(50).await;
    });
    assert_eq!(
        log,
        [&LISTS[..], &["0 GET version", "10 GET configmaps", "10 PATCH status-api-cm-prototype"]].concat()
    );
}

#[test]
fn retries_rejected_patches_after_growing_pauses() {
    let log = run_beside(async |server| {
        server.put(CONFIG_MAPS, config_map());
        server.refuse_patches_with(500, 8);
        seconds(250).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
    });
    assert_eq!(patches(&log), ["0", "1", "3", "7", "15", "31", "63", "123", "183"]);
}

#[test]
fn times_out_a_request_without_a_response() {
    let log = run_beside(async |server| {
        server.hang_once();
        server.put(CONFIG_MAPS, config_map());
        seconds(40).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
    });
    assert_eq!(log, [&start()[..], &["31 PATCH status-api-cm-prototype"]].concat());
}

fn node(config: &str) -> Value {
    let annotations = json!({"machineconfiguration.openshift.io/currentConfig": config});
    json!({"metadata": {"name": "n", "labels": {"role": "x"}, "annotations": annotations}})
}

#[test]
fn simultaneous_changes_lead_to_one_write() {
    let log = run_beside(async |server| {
        server.put(CONFIG_MAPS, config_map());
        server.put(NODES, node("old"));
        let selector = json!({"matchLabels": {"role": "x"}});
        server.put(POOLS, json!({"metadata": {"name": "worker"}, "spec": {"nodeSelector": selector}}));
        seconds(1).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version", "usc.ni.mcp-worker", "usc.ni.node-n"]);
        for config in ["a", "b", "new"] {
            server.put(NODES, node(config));
        }
        let release = json!({"machineconfiguration.openshift.io/release-image-version": "4.14.8"});
        server.put(MACHINE_CONFIGS, json!({"metadata": {"name": "new", "annotations": release}}));
        let mut updated = cluster_version("Console");
        updated["status"]["history"] = json!([{"version": "4.14.8"}]);
        server.put(CLUSTER_VERSIONS, updated);
        seconds(1).await;
        let insight = server.get(CONFIG_MAPS)["data"]["usc.ni.node-n"].to_string();
        assert!(insight.contains("reason: Completed"), "{insight}");
    });
    assert_eq!(
        log,
        [&start()[..], &["0 PATCH status-api-cm-prototype", "1 PATCH status-api-cm-prototype"]].concat()
    );
}

#[test]
fn notices_a_replaced_server_while_insights_depend_on_its_version() {
    let log = run_beside(async |server| {
        server.put(CONFIG_MAPS, config_map());
        seconds(5).await;
        server.put(CLUSTER_VERSIONS, cluster_version("Build"));
        seconds(5).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
        server.serve_minor("30");
        seconds(60).await;
        assert_eq!(keys(&server).len(), 2);
        server.put(CRDS, crd(&["Build"]));
        seconds(200).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
    });
    let rest = [
        "0 PATCH status-api-cm-prototype",
        "5 GET version",
        "65 GET version",
        "65 PATCH status-api-cm-prototype",
        "70 GET version",
        "130 PATCH status-api-cm-prototype",
    ];
    assert_eq!(log, [&start()[..], &rest].concat());
}

#[test]
fn survives_deletions_and_edits_of_the_config_map() {
    let log = run_beside(async |server| {
        server.put(CONFIG_MAPS, config_map());
        seconds(1).await;
        server.forget(CONFIG_MAPS);
        server.put(CLUSTER_VERSIONS, json!({"metadata": {"name": "version"}, "status": "invalid"}));
        server.put(
            CLUSTER_VERSIONS,
            json!({"metadata": {"name": "version"}, "status": {"history": [{"version": "1"}]}}),
        );
        seconds(1).await;
        server.put(CONFIG_MAPS, config_map());
        seconds(1).await;
        let mut edited = server.get(CONFIG_MAPS);
        edited["data"] = json!({"usc.cpi.cv-version": "edited", "mine": "kept"});
        server.put(CONFIG_MAPS, edited);
        seconds(1).await;
        assert_eq!(keys(&server), ["mine", "usc.cpi.cv-version"]);
        assert!(
            server.get(CONFIG_MAPS)["data"]["usc.cpi.cv-version"].as_str().unwrap().contains("acquiredAt")
        );
    });
    let patches = log.iter().filter(|line| line.contains("PATCH")).map(|line| &line[..1]).collect::<Vec<_>>();
    assert_eq!(patches, ["0", "1", "2", "3"]);
}

#[test]
fn parses_minor_versions_with_vendor_suffixes() {
    assert_eq!(
        ["27+", "31", "", "+", "99999999999"].map(leading_number),
        [Some(27), Some(31), None, None, None]
    );
}

#[test]
fn node_heartbeats_do_not_postpone_reading_the_version() {
    let log = run_beside(async |server| {
        server.put(CLUSTER_VERSIONS, cluster_version("Build"));
        for beat in 0..9 {
            seconds(10).await;
            let mut beating = node("old");
            beating["status"] =
                json!({"conditions": [{"type": "Ready", "lastHeartbeatTime": beat.to_string()}]});
            server.put(NODES, beating);
        }
    });
    let requests: Vec<&String> = log.iter().filter(|line| line.ends_with(" GET version")).collect();
    assert_eq!(requests, ["0 GET version", "60 GET version"]);
}

#[test]
fn a_rejected_patch_is_retried_only_after_a_change() {
    let log = run_beside(async |server| {
        server.put(CONFIG_MAPS, config_map());
        server.refuse_patches_with(422, 1);
        seconds(300).await;
        assert_eq!(keys(&server), [""; 0]);
        server.put(CONFIG_MAPS, config_map());
        seconds(1).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
        server.refuse_patches_with(422, 1);
        server.put(
            CLUSTER_VERSIONS,
            json!({"metadata": {"name": "version"}, "status": {"history": [{"version": "1"}]}}),
        );
        seconds(99).await;
        server.put(
            CLUSTER_VERSIONS,
            json!({"metadata": {"name": "version"}, "status": {"history": [{"version": "2"}]}}),
        );
        seconds(10).await;
        assert!(server.get(CONFIG_MAPS)["data"].to_string().contains("version: \\\"2\\\""));
    });
    assert_eq!(patches(&log), ["0", "300", "301", "400"]);
}

#[test]
fn retries_a_forbidden_write_once_a_minute() {
    let log = run_beside(async |server| {
        server.put(CONFIG_MAPS, config_map());
        server.refuse_patches_with(403, 3);
        seconds(100).await;
        for beat in 0..5 {
            server.put(NODES, json!({"metadata": {"name": "n", "labels": {"beat": beat.to_string()}}}));
            seconds(1).await;
        }
        seconds(100).await;
        assert_eq!(keys(&server), ["usc.cpi.cv-version"]);
    });
    assert_eq!(patches(&log), ["0", "60", "120", "180"]);
}
