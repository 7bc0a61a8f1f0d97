//! The ControllerConfig: the properties of the cluster and the images that the operator passes to its
//! controller. It has all fields that the schema of openshift/api requires.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_core::resources::{CONTROLLER_CONFIGS, INFRASTRUCTURES, PROXIES};
use windtunnel_core::{View, Write};

use super::CONTROLLER_CONFIG;
use super::annotations::{GENERATED_BY, GENERATED_BY_VERSION, RELEASE_VERSION};
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
                (GENERATED_BY_VERSION): release.machine_config_commit(),
                (RELEASE_VERSION): release.version.to_string(),
            },
        },
        "spec": {
            "additionalTrustBundle": null,
            "baseOSContainerImage": release.os_image(),
            "baseOSExtensionsContainerImage": release.extensions_image(),
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

/// The write that updates the proxy of the ControllerConfig to the status of the Proxy, if they differ.
pub(super) fn proxy_update(view: &View) -> Option<Write> {
    let existing = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG)?;
    let proxy = proxy_status(view.get(&PROXIES, "", "cluster").map_or(&Value::Null, |proxy| &**proxy));
    if existing["spec"]["proxy"] == proxy {
        return None;
    }
    let mut object = existing.to_value();
    object["spec"]["proxy"] = proxy;
    Some(Write::update(&CONTROLLER_CONFIGS, object))
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

#[cfg(test)]
mod tests {
    use windtunnel_core::{Change, ChangeKind, Object, Operation};

    use super::*;

    /// The required fields of the schema of openshift/api, and whether they may be null.
    const REQUIRED: [(&str, bool); 14] = [
        ("additionalTrustBundle", true),
        ("baseOSContainerImage", false),
        ("cloudProviderCAData", true),
        ("cloudProviderConfig", false),
        ("clusterDNSIP", false),
        ("dns", false),
        ("images", false),
        ("infra", false),
        ("ipFamilies", false),
        ("kubeAPIServerServingCAData", false),
        ("network", true),
        ("proxy", true),
        ("releaseImage", false),
        ("rootCAData", false),
    ];

    fn release(version: &str) -> Release {
        Release::find(&version.parse().unwrap()).unwrap()
    }

    #[test]
    fn has_all_fields_that_the_real_schema_requires() {
        let infrastructure =
            json!({ "spec": { "a": 1 }, "status": { "apiServerURL": "https://api.x.example.com:6443" } });
        let proxy = json!({ "status": { "httpProxy": "http://p" } });
        for (infrastructure, proxy) in [(&infrastructure, &proxy), (&Value::Null, &Value::Null)] {
            let config = controller_config(&release("4.18.3"), infrastructure, proxy);
            for (field, may_be_null) in REQUIRED {
                let value = config["spec"].get(field).unwrap_or_else(|| panic!("{field} is missing"));
                assert!(may_be_null || !value.is_null(), "{field}");
            }
        }
        let spec = &controller_config(&release("4.18.3"), &infrastructure, &proxy)["spec"];
        assert_eq!(spec["dns"]["spec"]["baseDomain"], "x.example.com");
        assert_eq!(spec["infra"]["spec"]["a"], 1);
        assert_eq!(spec["proxy"]["httpProxy"], "http://p");
    }

    #[test]
    fn an_update_keeps_the_fields_of_others_and_sets_nulls() {
        let mut view = View::default();
        let mut existing = controller_config(&release("4.18.3"), &Value::Null, &Value::Null);
        existing["spec"]["other"] = json!("kept");
        existing["metadata"]["annotations"]["other"] = json!("kept");
        let (key, object) = (CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG), Object::new(existing));
        view.apply(&Change { kind: ChangeKind::Added, key, object, old: None });
        let write = write(&release("4.19.1"), &view);
        let Operation::Update(object) = &write.operation else { panic!("{write:?}") };
        assert_eq!(object["spec"]["other"], "kept");
        assert_eq!(object["metadata"]["annotations"]["other"], "kept");
        assert_eq!(object["metadata"]["annotations"][RELEASE_VERSION], "4.19.1");
        let commit = release("4.19.1").machine_config_commit();
        assert_eq!(object["metadata"]["annotations"][GENERATED_BY_VERSION], commit);
        assert_eq!(object["spec"]["releaseImage"], release("4.19.1").image);
        assert!(object["spec"].as_object().is_some_and(|spec| spec.contains_key("proxy")));
    }
}
