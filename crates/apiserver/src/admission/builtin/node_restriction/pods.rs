//! Pods: kubelets create those of their static files, and delete, evict and report those on their node.

use serde_json::Value;
use windtunnel_core::requests::admission::{AdmissionOperation, AdmissionRejection};
use windtunnel_core::resources::{NODES, PODS};
use windtunnel_core::{Object, text_of};

use super::{Kubelet, forbidden, not_found, reject};
use crate::gotext::quote;

/// The annotation of pods that stand for static files of a kubelet.
const MIRROR: &str = "kubernetes.io/config.mirror";

pub(super) fn check(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let request = kubelet.request;
    match (request.subresource, request.operation) {
        ("", AdmissionOperation::Create) => check_new(kubelet),
        ("", AdmissionOperation::Delete) => check_deleted(kubelet),
        ("", operation) => {
            let (operation, node) = (quote(operation.name()), kubelet.quoted());
            reject(format!(
                "unexpected operation {operation}, node {node} can only create and delete mirror pods"
            ))
        }
        ("status", AdmissionOperation::Update) => check_status(kubelet),
        ("status", _) => Err(kubelet.unexpected_operation()),
        ("eviction", AdmissionOperation::Create) => check_eviction(kubelet),
        ("eviction", operation) => reject(format!("unexpected operation {}", operation.name())),
        (other, _) => {
            let other = quote(other);
            reject(format!("unexpected pod subresource {other}, only 'status' and 'eviction' are allowed"))
        }
    }
}

/// The stored pod of a request.
fn stored(kubelet: &Kubelet<'_>) -> Result<Object, AdmissionRejection> {
    let (namespace, name) = (kubelet.request.namespace, kubelet.request.name);
    kubelet.cluster.object(&PODS, namespace, name).ok_or_else(|| not_found(&PODS, name))
}

fn check_deleted(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    if stored(kubelet)?["spec"]["nodeName"] == kubelet.node {
        return Ok(());
    }
    let node = kubelet.quoted();
    reject(format!("node {node} can only delete pods with spec.nodeName set to itself"))
}

fn check_eviction(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    if stored(kubelet)?["spec"]["nodeName"] == kubelet.node {
        return Ok(());
    }
    reject(format!("node {} can only evict pods with spec.nodeName set to itself", kubelet.node))
}

fn check_status(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let (node, new, old) = (kubelet.quoted(), kubelet.object, kubelet.old());
    if old["spec"]["nodeName"] != kubelet.node {
        return reject(format!(
            "node {node} can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    if pairs(&new["metadata"]["labels"]) != pairs(&old["metadata"]["labels"]) {
        return reject(format!("node {node} cannot update labels through pod status"));
    }
    let claims = |pod: &Value| pod["status"]["resourceClaimStatuses"].as_array().cloned().unwrap_or_default();
    if claims(new) != claims(old) {
        return reject(format!("node {node} cannot update resource claim statues"));
    }
    if new["status"]["extendedResourceClaimStatus"] != old["status"]["extendedResourceClaimStatus"] {
        return reject(format!("node {node} cannot update extended resource claim status"));
    }
    Ok(())
}

/// The pairs of a map; none if it is absent.
fn pairs(map: &Value) -> Vec<(&String, &Value)> {
    map.as_object().into_iter().flatten().collect()
}

fn check_new(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let (node, pod) = (kubelet.quoted(), kubelet.object);
    if pod["metadata"]["annotations"].get(MIRROR).is_none() {
        let mirror = quote(MIRROR);
        return reject(format!(
            "pod does not have {mirror} annotation, node {node} can only create mirror pods"
        ));
    }
    if pod["spec"]["nodeName"] != kubelet.node {
        return reject(format!("node {node} can only create pods with spec.nodeName set to itself"));
    }
    check_owner(kubelet)?;
    match reference(&pod["spec"])
        .map_err(|why| forbidden(format!("error checking mirror pod for API references: {why}")))?
    {
        Some(kind) => reject(format!("node {node} can not create pods that reference {kind}")),
        None => Ok(()),
    }
}

/// The only owner of a static pod is its node.
fn check_owner(kubelet: &Kubelet<'_>) -> Result<(), AdmissionRejection> {
    let node = kubelet.quoted();
    let owners =
        kubelet.object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let owner = match owners {
        [owner] => owner,
        [] => {
            return reject(format!("node {node} can only create pods with an owner reference set to itself"));
        }
        _ => {
            let why = format!("node {node} can only create pods with a single owner reference set to itself");
            return reject(why);
        }
    };
    if owner["apiVersion"] != "v1" || owner["kind"] != "Node" || owner["name"] != kubelet.node {
        return reject(format!("node {node} can only create pods with an owner reference set to itself"));
    }
    if owner["controller"] != true {
        return reject(format!(
            "node {node} can only create pods with a controller owner reference set to itself"
        ));
    }
    if owner["blockOwnerDeletion"] == true {
        return reject(format!("node {node} must not set blockOwnerDeletion on an owner reference"));
    }
    let Some(stored) = kubelet.cluster.object(&NODES, "", kubelet.node) else {
        return Err(not_found(&NODES, kubelet.node));
    };
    let (given, uid) = (text_of(owner, "uid"), stored.uid());
    if given != uid {
        return reject(format!("node {} UID mismatch: expected {given} got {uid}", kubelet.node));
    }
    Ok(())
}

/// The first kind of objects that a pod refers to, if any (`HasAPIObjectReference`).
///
/// # Errors
/// A volume is of an unknown type.
fn reference(spec: &Value) -> Result<Option<&'static str>, String> {
    if !text_of(spec, "serviceAccountName").is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    if refers_to(
        spec,
        &["imagePullSecrets", "secret", "secretRef", "secretKeyRef", "secretName", "nodePublishSecretRef"],
    ) {
        return Ok(Some("secrets"));
    }
    if refers_to(spec, &["configMap", "configMapRef", "configMapKeyRef"]) {
        return Ok(Some("configmaps"));
    }
    if spec["resourceClaims"].as_array().is_some_and(|claims| !claims.is_empty()) {
        return Ok(Some("resourceclaims"));
    }
    for volume in spec["volumes"].as_array().into_iter().flatten() {
        if let Some(found) = volume_reference(volume)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Whether any of these fields is set anywhere below a value.
fn refers_to(value: &Value, fields: &[&str]) -> bool {
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    match value {
        Value::Object(map) => map.iter().any(|(field, value)| {
            (fields.contains(&field.as_str()) && is_set(value)) || refers_to(value, fields)
        }),
        Value::Array(items) => items.iter().any(|item| refers_to(item, fields)),
        _ => false,
    }
}

/// The kind of objects that a volume refers to, if any.
fn volume_reference(volume: &Value) -> Result<Option<&'static str>, String> {
    const REFERENCES: [(&str, &str); 4] = [
        ("csi", "csidrivers (via CSI volumes)"),
        ("glusterfs", "endpoints (via glusterFS volumes)"),
        ("persistentVolumeClaim", "persistentvolumeclaims"),
        ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ];
    const SOURCES: [(&str, Option<&str>); 4] = [
        ("serviceAccountToken", Some("serviceaccounts (via projected volumes)")),
        ("clusterTrustBundle", Some("clustertrustbundles")),
        ("podCertificate", Some("podcertificates")),
        ("downwardAPI", None),
    ];
    if let Some((_, kind)) = REFERENCES.iter().find(|(source, _)| !volume[source].is_null()) {
        return Ok(Some(*kind));
    }
    for source in volume["projected"]["sources"].as_array().into_iter().flatten() {
        match SOURCES.iter().find(|(name, _)| !source[name].is_null()) {
            Some((_, Some(kind))) => return Ok(Some(*kind)),
            Some((_, None)) => {}
            None => {
                let name = quote(text_of(volume, "name"));
                return Err(format!("unknown source for projected volume {name}"));
            }
        }
    }
    Ok(None)
}
