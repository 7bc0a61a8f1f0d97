//! Sets the ServiceAccount of a new pod and mounts its token (`ServiceAccount`).
//!
//! It is off by default: a controller must create the ServiceAccount `default` of each namespace, and the plug-in
//! rejects every pod without one.

use serde_json::{Value, json};
use windtunnel_core::Resource;

use crate::admission::Admission;
use crate::call::Call;
use crate::gotext::quote;
use crate::kinds::objects::Objects;
use crate::metadata;
use crate::status::{Outcome, Refused};

const SERVICE_ACCOUNTS: Resource = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
/// The mount path of the token in a container.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
/// The lifetime of a token: an hour, and seven seconds that mark it as requested by this plug-in.
const SECONDS: u32 = 3607;
const MIRROR: &str = "kubernetes.io/config.mirror";

impl Admission {
    /// Sets the ServiceAccount, its token volume and its image pull secrets in a new pod. `draw_suffix` draws the suffix of
    /// a generated name, given the kind, the namespace and the prefix.
    ///
    /// # Errors
    /// 403 if the ServiceAccount does not exist.
    pub(crate) fn set_service_account(
        &self,
        objects: Objects<'_>,
        call: &mut Call<'_>,
        object: &mut Value,
        draw_suffix: impl FnOnce(&Resource, &str, &str) -> String,
    ) -> Outcome<()> {
        if !self.service_accounts || !call.kind.is_resource("", "pods") {
            return Ok(());
        }
        if object["metadata"]["annotations"].get(MIRROR).is_some() {
            return Ok(());
        }
        let given = object["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty());
        let name = given.unwrap_or("default").to_owned();
        let namespace = call.path.namespace.to_string();
        let Some(account) = objects.get(&SERVICE_ACCOUNTS, &namespace, &name) else {
            let quoted = quote(&name);
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount {quoted} not found"
            );
            let pod = metadata::text(object, "name").to_owned();
            return Err(Refused::forbidden(&call.kind.resource, &pod, &why));
        };
        let account = account.to_value();
        object["spec"]["serviceAccountName"] = json!(name);
        object["spec"]["serviceAccount"] = json!(name);
        let wanted =
            [&object["spec"]["automountServiceAccountToken"], &account["automountServiceAccountToken"]];
        if wanted.iter().find_map(|wanted| wanted.as_bool()).unwrap_or(true) {
            let volume = call.attempt.token_volume.get_or_insert_with(|| {
                format!("{VOLUME}{}", draw_suffix(&call.kind.resource, &namespace, VOLUME))
            });
            mount_token(&mut object["spec"], volume);
        }
        let pulls = &mut object["spec"]["imagePullSecrets"];
        if pulls.as_array().is_none_or(Vec::is_empty) && account["imagePullSecrets"].is_array() {
            *pulls = account["imagePullSecrets"].clone();
        } else if pulls.is_null() {
            object["spec"].as_object_mut().and_then(|spec| spec.remove("imagePullSecrets"));
        }
        Ok(())
    }
}

/// Mounts a token into each container that mounts nothing at the path.
fn mount_token(spec: &mut Value, volume: &str) {
    // Reuses a token volume that the pod already has.
    let existing =
        spec["volumes"].as_array().into_iter().flatten().filter_map(|volume| volume["name"].as_str());
    let existing = existing.into_iter().find(|name| name.starts_with(VOLUME)).map(str::to_owned);
    let name = existing.clone().unwrap_or_else(|| volume.to_owned());
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
