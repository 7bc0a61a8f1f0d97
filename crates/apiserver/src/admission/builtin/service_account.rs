//! Sets the ServiceAccount of a new pod and mounts its token.
//!
//! It is off by default: a controller must create the ServiceAccount `default` of each namespace, and the plug-in
//! rejects every pod without one.

use serde_json::{Value, json};
use windtunnel_core::Resource;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;

use crate::gotext::quote;

const SERVICE_ACCOUNTS: Resource = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
/// The mount path of the token in a container.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
/// The lifetime of a token: an hour, and seven seconds that mark it as requested by this plug-in.
const SECONDS: u32 = 3607;
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceAccount;

impl AdmissionPlugin for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_new = request.writes(&PODS) && request.operation == AdmissionOperation::Create;
        if !is_new || pod["metadata"]["annotations"].get(MIRROR).is_some() {
            return Ok(());
        }
        let given = pod["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty());
        let name = given.unwrap_or("default").to_owned();
        let namespace = request.namespace;
        let Some(account) = cluster.object(&SERVICE_ACCOUNTS, namespace, &name) else {
            let quoted = quote(&name);
            return Err(AdmissionRejection::Forbidden(format!(
                "error looking up service account {namespace}/{name}: serviceaccount {quoted} not found"
            )));
        };
        pod["spec"]["serviceAccountName"] = json!(name);
        pod["spec"]["serviceAccount"] = json!(name);
        let wanted = [&pod["spec"]["automountServiceAccountToken"], &account["automountServiceAccountToken"]];
        if wanted.iter().find_map(|wanted| wanted.as_bool()).unwrap_or(true) {
            mount_token(&mut pod["spec"], || {
                format!("{VOLUME}{}", cluster.draw_name_suffix(request.resource, VOLUME))
            });
        }
        add_pull_secrets(&mut pod["spec"], &account["imagePullSecrets"]);
        Ok(())
    }
}

/// Gives a pod without image pull secrets those of its ServiceAccount.
fn add_pull_secrets(spec: &mut Value, secrets: &Value) {
    let own = &mut spec["imagePullSecrets"];
    if own.as_array().is_none_or(Vec::is_empty) && secrets.is_array() {
        *own = secrets.clone();
    } else if own.is_null() {
        spec.as_object_mut().and_then(|spec| spec.remove("imagePullSecrets"));
    }
}

/// Mounts a token into each container that mounts nothing at the path.
fn mount_token(spec: &mut Value, draw_volume: impl FnOnce() -> String) {
    // Reuses a token volume that the pod already has.
    let existing =
        spec["volumes"].as_array().into_iter().flatten().filter_map(|volume| volume["name"].as_str());
    let existing = existing.into_iter().find(|name| name.starts_with(VOLUME)).map(str::to_owned);
    let name = existing.clone().unwrap_or_else(draw_volume);
    let mut used = false;
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mut mounts = container["volumeMounts"].as_array().cloned().unwrap_or_default();
            if mounts.iter().any(|mount| mount["mountPath"] == MOUNT) {
                continue;
            }
            mounts.push(json!({ "name": name, "readOnly": true, "mountPath": MOUNT }));
            container["volumeMounts"] = json!(mounts);
            used = true;
        }
    }
    if used && existing.is_none() {
        let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        volumes.push(token_volume(&name));
        spec["volumes"] = json!(volumes);
    }
}

/// The projected volume with the token (`TokenVolumeSource`).
fn token_volume(name: &str) -> Value {
    json!({ "name": name, "projected": { "defaultMode": 420, "sources": [
        { "serviceAccountToken": { "expirationSeconds": SECONDS, "path": "token" } },
        { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
        { "downwardAPI": { "items": [{ "path": "namespace",
            "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } }] } },
    ] } })
}
