//! EndpointSlices and Endpoints of Services.

use serde_json::{Value, json};
use windtunnel_core::resources::{ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES};
use windtunnel_core::{Object, Write};

use super::{EndpointSliceController, EndpointsController};
use crate::testing::{Rig, check_recovery};

fn rig() -> Rig {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig
}

fn prepare(rig: &mut Rig) {
    rig.seat(|| Box::new(EndpointSliceController::new()));
    rig.seat(|| Box::new(EndpointsController::new()));
    rig.put(&NODES, json!({ "metadata": { "name": "n", "labels": { "topology.kubernetes.io/zone": "z" } } }));
    let ports = json!([{ "name": "web", "port": 80, "targetPort": "http" }]);
    let spec = json!({ "clusterIP": "172.30.0.9", "selector": { "app": "web" }, "ports": ports });
    rig.put(
        &SERVICES,
        json!({ "metadata": { "namespace": "ns", "name": "web", "labels": { "own": "1" } }, "spec": spec }),
    );
    rig.run(1);
}

fn put_pod(rig: &mut Rig, number: u32, ready: bool, port: i64) {
    let status = if ready { "True" } else { "False" };
    rig.put(&PODS, json!({
        "metadata": { "namespace": "ns", "name": format!("p{number:03}"), "labels": { "app": "web" } },
        "spec": { "nodeName": "n", "containers": [{ "ports": [{ "name": "http", "containerPort": port }] }] },
        "status": {
            "podIP": format!("10.128.0.{number}"), "phase": "Running",
            "conditions": [{ "type": "Ready", "status": status, "lastTransitionTime": "2024-01-01T00:00:01Z" }],
        },
    }));
    rig.run(1);
}

/// The slices as `ports: addresses`, with unready pods in parentheses.
fn slices(rig: &Rig) -> Vec<String> {
    let endpoint = |endpoint: &Value| {
        let address = endpoint["addresses"][0].as_str().unwrap().to_owned();
        if endpoint["conditions"]["ready"] == true { address } else { format!("({address})") }
    };
    let text = |slice: &Object| {
        let ports: Vec<_> = slice.list("/ports").iter().map(|port| port["port"].to_string()).collect();
        let endpoints: Vec<_> = slice.list("/endpoints").iter().map(endpoint).collect();
        format!("{}: {}", ports.join(","), endpoints.join(" "))
    };
    let mut slices: Vec<_> = rig.view.list(&ENDPOINT_SLICES).map(text).collect();
    slices.sort();
    slices
}

fn subsets(rig: &Rig) -> Value {
    let mut subsets = rig.view.get(&ENDPOINTS, "ns", "web").unwrap()["subsets"].clone();
    for address in subsets.as_array_mut().into_iter().flatten().flat_map(|subset| {
        let lists = subset.as_object_mut().unwrap().iter_mut().filter(|(field, _)| *field != "ports");
        lists.flat_map(|(_, list)| list.as_array_mut().unwrap())
    }) {
        *address = address["ip"].clone();
    }
    subsets
}

#[test]
fn a_service_without_pods_has_an_empty_slice_and_empty_endpoints() {
    let rig = rig();
    assert_eq!(slices(&rig), [": "]);
    assert_eq!(subsets(&rig), json!([]));
    let slice = rig.view.list(&ENDPOINT_SLICES).next().unwrap();
    assert_eq!(slice.label("kubernetes.io/service-name"), Some("web"));
    assert_eq!(slice.label("own"), Some("1"));
}

#[test]
fn groups_pods_by_their_ports() {
    let mut rig = rig();
    put_pod(&mut rig, 1, true, 8080);
    put_pod(&mut rig, 2, false, 8080);
    put_pod(&mut rig, 3, true, 9090);
    assert_eq!(slices(&rig), ["8080: 10.128.0.1 (10.128.0.2)", "9090: 10.128.0.3"]);
    let port = |number: i64| json!([{ "name": "web", "port": number, "protocol": "TCP" }]);
    let expected = json!([
        { "addresses": ["10.128.0.1"], "notReadyAddresses": ["10.128.0.2"], "ports": port(8080) },
        { "addresses": ["10.128.0.3"], "ports": port(9090) },
    ]);
    assert_eq!(subsets(&rig), expected);
    let mut endpoints = rig.view.list(&ENDPOINT_SLICES).flat_map(|slice| slice.list("/endpoints"));
    let endpoint = endpoints.find(|endpoint| endpoint["targetRef"]["name"] == "p001").unwrap();
    assert_eq!((&endpoint["nodeName"], &endpoint["zone"]), (&json!("n"), &json!("z")));
}

#[test]
fn omits_ended_pods_and_lists_terminating_pods_in_slices_only() {
    let mut rig = rig();
    put_pod(&mut rig, 1, true, 8080);
    put_pod(&mut rig, 2, true, 8080);
    rig.write(&Write::merge_patch_status(&PODS, "ns", "p002", json!({ "status": { "phase": "Failed" } })));
    let deleted = json!({ "metadata": { "deletionTimestamp": "2024-01-01T00:00:02Z" } });
    rig.write(&Write::merge_patch(&PODS, "ns", "p001", deleted));
    rig.run(1);
    assert_eq!(slices(&rig), ["8080: (10.128.0.1)"]);
    assert_eq!(subsets(&rig), json!([]));
    let conditions =
        rig.view.list(&ENDPOINT_SLICES).next().unwrap().list("/endpoints")[0]["conditions"].clone();
    assert_eq!(conditions, json!({ "ready": false, "serving": true, "terminating": true }));
}

#[test]
fn a_slice_has_at_most_a_hundred_pods_and_pods_keep_their_slice() {
    let mut rig = rig();
    for number in 1..=101 {
        put_pod(&mut rig, number, true, 8080);
    }
    let counts = |rig: &Rig| {
        let mut counts: Vec<_> =
            rig.view.list(&ENDPOINT_SLICES).map(|slice| slice.list("/endpoints").len()).collect();
        counts.sort_unstable();
        counts
    };
    assert_eq!(counts(&rig), [1, 100]);
    rig.write(&Write::delete_now(&PODS, "ns", "p050"));
    rig.run(1);
    assert_eq!(counts(&rig), [1, 99]);
    rig.write(&Write::delete_now(&PODS, "ns", "p101"));
    rig.run(1);
    assert_eq!(counts(&rig), [99]);
}

#[test]
fn reverts_foreign_changes_and_writes_nothing_without_a_difference() {
    let mut rig = rig();
    put_pod(&mut rig, 1, true, 8080);
    rig.write(&Write::merge_patch(&ENDPOINTS, "ns", "web", json!({ "subsets": [] })));
    let slice = rig.view.list(&ENDPOINT_SLICES).next().unwrap().name().to_owned();
    rig.write(&Write::delete(&ENDPOINT_SLICES, "ns", &slice));
    rig.run(1);
    assert_eq!(slices(&rig), ["8080: 10.128.0.1"]);
    assert_eq!(subsets(&rig)[0]["addresses"], json!(["10.128.0.1"]));
    let writes = rig.log.len();
    rig.write(&Write::merge_patch(
        &PODS,
        "ns",
        "p001",
        json!({ "metadata": { "annotations": { "x": "y" } } }),
    ));
    rig.run(60);
    assert_eq!(rig.log.len(), writes);
}

#[test]
fn deletes_the_endpoints_of_a_deleted_service() {
    let mut rig = rig();
    rig.write(&Write::delete(&SERVICES, "ns", "web"));
    rig.run(1);
    assert!(rig.view.get(&ENDPOINTS, "ns", "web").is_none());
}

#[test]
fn recovers_after_a_crash_at_each_write() {
    check_recovery(
        |rig| {
            prepare(rig);
            put_pod(rig, 1, true, 8080);
            put_pod(rig, 2, false, 9090);
            rig.write(&Write::delete_now(&PODS, "ns", "p001"));
            rig.run(60);
        },
        |rig| format!("{:?} {}", slices(rig), subsets(rig)),
    );
}

#[test]
fn an_unnamed_port_has_no_name_in_endpoints_and_an_empty_one_in_slices() {
    let mut rig = rig();
    let spec = json!({ "selector": { "app": "web" }, "ports": [{ "port": 80 }] });
    rig.put(&SERVICES, json!({ "metadata": { "namespace": "ns", "name": "plain" }, "spec": spec }));
    put_pod(&mut rig, 1, true, 8080);
    let endpoints = rig.view.get(&ENDPOINTS, "ns", "plain").unwrap();
    assert_eq!(endpoints["subsets"][0]["ports"], json!([{ "port": 80, "protocol": "TCP" }]));
    let mut slices = rig.view.list(&ENDPOINT_SLICES);
    let slice = slices.find(|slice| slice.label("kubernetes.io/service-name") == Some("plain")).unwrap();
    assert_eq!(slice.list("/ports"), [json!({ "name": "", "port": 80, "protocol": "TCP" })]);
}

#[test]
fn ignores_a_service_with_an_empty_selector() {
    let mut rig = rig();
    let spec = json!({ "selector": {}, "ports": [{ "port": 80 }] });
    rig.put(&SERVICES, json!({ "metadata": { "namespace": "ns", "name": "open" }, "spec": spec }));
    put_pod(&mut rig, 1, true, 8080);
    assert!(rig.view.get(&ENDPOINTS, "ns", "open").is_none());
    let mut slices = rig.view.list(&ENDPOINT_SLICES);
    assert!(!slices.any(|slice| slice.label("kubernetes.io/service-name") == Some("open")));
}

#[test]
fn a_pod_without_the_target_port_is_in_slices_only() {
    let mut rig = rig();
    put_pod(&mut rig, 1, true, 8080);
    let unnamed =
        json!({ "spec": { "containers": [{ "ports": [{ "name": "metrics", "containerPort": 9 }] }] } });
    rig.write(&Write::merge_patch(&PODS, "ns", "p001", unnamed));
    rig.run(1);
    assert_eq!(slices(&rig), [": 10.128.0.1"]);
    assert_eq!(subsets(&rig), json!([]));
}

#[test]
fn keeps_foreign_annotations_of_endpoints() {
    let mut rig = rig();
    let mine = json!({ "metadata": { "annotations": { "mine": "kept" } } });
    rig.write(&Write::merge_patch(&ENDPOINTS, "ns", "web", mine));
    put_pod(&mut rig, 1, true, 8080);
    let endpoints = rig.view.get(&ENDPOINTS, "ns", "web").unwrap();
    assert_eq!(endpoints.annotation("mine"), Some("kept"));
    let changed = endpoints.annotation("endpoints.kubernetes.io/last-change-trigger-time");
    assert_eq!(changed, Some("2024-01-01T00:00:01Z"));
}
