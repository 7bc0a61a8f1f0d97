//! The objects that a kube-apiserver creates for itself.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Endpoint};

use super::kinds::get;
use super::requests::{now, server};

const IN_DEFAULT: &str = "/api/v1/namespaces/default";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
const CONFIG_MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";

/// Gets an object, and removes its uid, creation time, resource version and the owners of its fields.
fn get_comparable(server: &mut ApiServer, path: &str) -> Value {
    let mut object = get(server, path);
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields"] {
        assert!(metadata.remove(field).is_some(), "{path}: {field}");
    }
    object
}

#[test]
fn the_kubernetes_service_and_its_endpoints_exist() {
    let mut server = server(36);
    let service = get_comparable(&mut server, &format!("{IN_DEFAULT}/services/kubernetes"));
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    assert_eq!(
        service,
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "kubernetes", "namespace": "default", "labels": labels },
            "spec": {
                "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443 }],
                "sessionAffinity": "None", "type": "ClusterIP",
            },
            "status": { "loadBalancer": {} },
        })
    );
    server.advertise(Endpoint { address: Ipv4Addr::new(192, 0, 2, 7), port: 8443 }, now());
    let service = get(&mut server, &format!("{IN_DEFAULT}/services/kubernetes"));
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 8443);
    let endpoints = get_comparable(&mut server, &format!("{IN_DEFAULT}/endpoints/kubernetes"));
    let ports = json!([{ "name": "https", "port": 8443, "protocol": "TCP" }]);
    assert_eq!(endpoints["subsets"], json!([{ "addresses": [{ "ip": "192.0.2.7" }], "ports": ports }]));
    let unmirrored = json!({ "endpointslice.kubernetes.io/skip-mirror": "true" });
    assert_eq!(endpoints["metadata"]["labels"], unmirrored);
    let slice = get_comparable(&mut server, SLICE);
    assert_eq!(slice["metadata"]["labels"], json!({ "kubernetes.io/service-name": "kubernetes" }));
    let ready = json!({ "ready": true });
    assert_eq!(slice["endpoints"], json!([{ "addresses": ["192.0.2.7"], "conditions": ready }]));
    assert_eq!((&slice["addressType"], &slice["ports"]), (&json!("IPv4"), &ports));
}

#[test]
fn no_other_service_gets_the_address_of_the_server() {
    let mut server = server(36);
    let spec = json!({ "clusterIP": "10.0.0.1", "ports": [{ "port": 1 }] });
    let service = json!({ "metadata": { "name": "s" }, "spec": spec });
    let path = format!("{IN_DEFAULT}/services");
    let (code, text) = super::kinds::answer(&mut server, windtunnel_apiserver::Method::Post, &path, &service);
    assert_eq!(code, 422);
    assert!(text.contains("failed to allocate IP 10.0.0.1: provided IP is already allocated"), "{text}");
}

#[test]
fn the_use_of_legacy_tokens_is_tracked_since_1_27() {
    let path = format!("{CONFIG_MAPS}/kube-apiserver-legacy-service-account-token-tracking");
    assert_eq!(get_comparable(&mut server(27), &path)["data"], json!({ "since": "2024-01-01" }));
    assert_eq!(get(&mut server(26), &path)["code"], 404);
}

#[test]
fn client_authorities_are_published_when_they_are_known() {
    let mut server = server(36);
    let path = format!("{CONFIG_MAPS}/extension-apiserver-authentication");
    assert_eq!(get(&mut server, &path)["code"], 404, "as in a server without --client-ca-file");
    for pem in ["one", "other"] {
        server.publish_client_authorities(pem, now());
        assert_eq!(get_comparable(&mut server, &path)["data"], json!({ "client-ca-file": pem }));
    }
}

#[test]
fn bootstrap_objects_start_at_the_same_revision_in_every_minor() {
    for minor in 24..=36 {
        let roles = get(&mut server(minor), "/apis/rbac.authorization.k8s.io/v1/clusterroles");
        let versions = roles["items"].as_array().unwrap().iter();
        let first =
            versions.map(|role| role["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap());
        assert_eq!(first.min(), Some(201), "1.{minor}");
    }
}
