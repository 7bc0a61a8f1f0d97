//! The ControllerConfig: the properties of the cluster and the images that the operator passes to its
//! controller. It has all fields that the schema of openshift/api requires.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, INFRASTRUCTURES, PROXIES};
use windtunnel_core::{View, Write};

use super::CONTROLLER_CONFIG;
use super::annotations::{GENERATED_BY, RELEASE_VERSION};
use crate::certificate::Certificate;
use crate::release::Release;

/// The address of the cluster's DNS Service, the tenth in the installer's default service network.
const CLUSTER_DNS_IP: &str = "172.30.0.10";
/// The images in `spec.images`: their keys and the components that they belong to.
const IMAGES: [(&str, &str); 8] = [
    ("apiServerWatcherKey", "machine-config-operator"),
    ("baremetalRuntimeCfgImage", "baremetal-runtimecfg"),
    ("corednsImage", "coredns"),
    ("haproxyImage", "haproxy-router"),
    ("infraImageKey", "pod"),
    ("keepalivedImage", "keepalived-ipfailover"),
    ("kubeRbacProxyImage", "kube-rbac-proxy"),
    ("machineConfigOperator", "machine-config-operator"),
];

/// The ControllerConfig of a release in a cluster with this Infrastructure and Proxy, which may be null.
pub(super) fn controller_config(release: &Release, infrastructure: &Value, proxy: &Value) -> Value {
    let images: Value =
        IMAGES.iter().map(|(key, component)| ((*key).to_owned(), release.image_of(component))).collect();
    let platform = infrastructure["status"]["platformStatus"]["type"].as_str().unwrap_or("None");
    json!({
        "apiVersion": CONTROLLER_CONFIGS.api_version(),
        "kind": CONTROLLER_CONFIGS.kind,
        "metadata": {
            "name": CONTROLLER_CONFIG,
            "annotations": {
                (GENERATED_BY): release.machine_config_commit(),
                (RELEASE_VERSION): release.version.to_string(),
            },
        },
        "spec": {
            "additionalTrustBundle": null,
            "baseOSContainerImage": release.os_image(),
            "baseOSExtensionsContainerImage": release.image_of("rhel-coreos-extensions"),
            "cloudProviderCAData": null,
            "cloudProviderConfig": "",
            "clusterDNSIP": CLUSTER_DNS_IP,
            "dns": dns(infrastructure),
            "images": images,
            "infra": embedded_infrastructure(infrastructure),
            "ipFamilies": "IPv4",
            "kubeAPIServerServingCAData": ca_data("kube-apiserver-serving-ca"),
            "network": null,
            "networkType": "OVNKubernetes",
            "osImageURL": release.os_image(),
            "platform": platform.to_lowercase(),
            "proxy": proxy_status(proxy),
            "pullSecret": { "namespace": "openshift-config", "name": "pull-secret" },
            "releaseImage": release.image,
            "rootCAData": ca_data("root-ca"),
        },
    })
}

/// The write that creates the ControllerConfig of a release, or replaces its fields.
pub(super) fn write(release: &Release, view: &View) -> Write {
    let cluster = |resource| view.get(resource, "", "cluster").map_or(&Value::Null, |object| &**object);
    let mut wanted = controller_config(release, cluster(&INFRASTRUCTURES), cluster(&PROXIES));
    let Some(existing) = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG) else {
        return Write::create(&CONTROLLER_CONFIGS, wanted);
    };
    let mut object = existing.to_value();
    for part in ["/metadata/annotations", "/spec"] {
        let Some(Value::Object(fields)) = wanted.pointer_mut(part).map(Value::take) else { continue };
        match object.pointer_mut(part).and_then(Value::as_object_mut) {
            Some(existing) => existing.extend(fields),
            None => object[part.split('/').nth(1).unwrap_or_default()] = json!(fields),
        }
    }
    Write::update(&CONTROLLER_CONFIGS, object)
}

/// DNS `cluster`. Its base domain is that of the API's URL.
fn dns(infrastructure: &Value) -> Value {
    let url = infrastructure["status"]["apiServerURL"].as_str().unwrap_or_default();
    let host = url.trim_start_matches("https://").split(':').next().unwrap_or_default();
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "DNS",
        "metadata": { "name": "cluster" },
        "spec": { "baseDomain": host.trim_start_matches("api.") },
    })
}

/// Infrastructure `cluster` without the metadata that the API server sets.
fn embedded_infrastructure(infrastructure: &Value) -> Value {
    let part = |name: &str| infrastructure[name].as_object().map_or_else(|| json!({}), |part| json!(part));
    json!({
        "apiVersion": INFRASTRUCTURES.api_version(),
        "kind": INFRASTRUCTURES.kind,
        "metadata": { "name": "cluster" },
        "spec": part("spec"),
        "status": part("status"),
    })
}

/// The status of the Proxy; null if it has no settings.
fn proxy_status(proxy: &Value) -> Value {
    let status = &proxy["status"];
    if status.as_object().is_none_or(serde_json::Map::is_empty) { Value::Null } else { status.clone() }
}

/// A CA bundle in a field for bytes.
fn ca_data(subject: &str) -> String {
    STANDARD.encode(Certificate::of_signer(subject, subject).pem())
}
