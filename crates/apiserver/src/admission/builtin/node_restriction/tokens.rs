//! Tokens: kubelets request those for pods on their node, with the audiences that the pod mounts.

use serde_json::Value;
use windtunnel_core::requests::admission::{AdmissionOperation, AdmissionRejection, Permission};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, Resource, text_of};

use super::{Kubelet, not_found, reject};
use crate::gotext::quote;
use crate::profile::since;

const CLAIMS: Resource = Resource::namespaced("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
const VOLUMES: Resource = Resource::cluster("", "v1", "PersistentVolume", "persistentvolumes");
const DRIVERS: Resource = Resource::cluster("storage.k8s.io", "v1", "CSIDriver", "csidrivers");

pub(super) fn check(kubelet: &mut Kubelet<'_>) -> Result<(), AdmissionRejection> {
    if !kubelet.is(AdmissionOperation::Create) || kubelet.request.subresource != "token" {
        return Ok(());
    }
    let bound = &kubelet.object["spec"]["boundObjectRef"];
    let name = text_of(bound, "name");
    if bound["apiVersion"] != "v1" || bound["kind"] != "Pod" || name.is_empty() {
        return reject("node requested token not bound to a pod");
    }
    let uid = text_of(bound, "uid");
    if uid.is_empty() {
        return reject("node requested token with a pod binding without a uid");
    }
    let Some(pod) = kubelet.cluster.object(&PODS, kubelet.request.namespace, name) else {
        return Err(not_found(&PODS, name));
    };
    if uid != pod.uid() {
        return reject(format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been \
             deleted and then recreated"
        ));
    }
    if pod["spec"]["nodeName"] != kubelet.node {
        return reject("node requested token bound to a pod scheduled on a different node");
    }
    if kubelet.cluster.kubernetes_minor() < since::TOKEN_AUDIENCES_CHECKED {
        return Ok(());
    }
    check_audience(kubelet, &pod)
}

fn check_audience(kubelet: &mut Kubelet<'_>, pod: &Object) -> Result<(), AdmissionRejection> {
    let audiences = kubelet.object["spec"]["audiences"].as_array().map(Vec::as_slice).unwrap_or_default();
    if audiences.len() > 1 {
        return reject("node may only request 0 or 1 audiences");
    }
    let audience = audiences.first().and_then(Value::as_str).unwrap_or_default();
    if mounts(kubelet, pod, audience) {
        return Ok(());
    }
    let resource = Resource { plural: audience.to_owned().into(), ..PODS };
    let permission = Permission {
        verb: "request-serviceaccounts-token-audience",
        resource: &resource,
        subresource: "",
        namespace: kubelet.request.namespace,
        name: kubelet.request.name,
    };
    if kubelet.cluster.allows(kubelet.request.user, permission) {
        return Ok(());
    }
    let (audience, user) = (quote(audience), &kubelet.request.user.user);
    reject(format!(
        "audience {audience} not found in pod spec volume, {user} is not authorized to request tokens for this audience"
    ))
}

/// Whether a volume of a pod has tokens for an audience: in a projection, or by its CSI driver.
fn mounts(kubelet: &Kubelet<'_>, pod: &Object, audience: &str) -> bool {
    let is_for = |token: &Value| token.is_object() && text_of(token, "audience") == audience;
    pod.list("/spec/volumes").iter().any(|volume| {
        let mut sources = volume["projected"]["sources"].as_array().into_iter().flatten();
        if sources.any(|source| is_for(&source["serviceAccountToken"])) {
            return true;
        }
        let driver =
            driver_of(kubelet, pod, volume).and_then(|name| kubelet.cluster.object(&DRIVERS, "", &name));
        driver.is_some_and(|driver| driver.list("/spec/tokenRequests").iter().any(is_for))
    })
}

/// The CSI driver of a volume, also of one that is bound to its claim.
fn driver_of(kubelet: &Kubelet<'_>, pod: &Object, volume: &Value) -> Option<String> {
    if let Some(driver) = volume["csi"]["driver"].as_str() {
        return Some(driver.to_owned());
    }
    let claim = match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(claim) => claim.to_owned(),
        None if volume["ephemeral"]["volumeClaimTemplate"].is_object() => {
            format!("{}-{}", pod.name(), text_of(volume, "name"))
        }
        None => return None,
    };
    let claim = kubelet.cluster.object(&CLAIMS, pod.namespace(), &claim)?;
    let volume = kubelet.cluster.object(&VOLUMES, "", claim.text("/spec/volumeName"))?;
    Some(volume.text("/spec/csi/driver").to_owned()).filter(|driver| !driver.is_empty())
}
