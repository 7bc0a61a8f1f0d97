//! Subresources that show the whole object and write one part of it.

use serde_json::{Value, json};

use crate::call::Call;
use crate::call::decode;
use crate::field::{Cause, FieldError};
use crate::reply::Reply;
use crate::request::Method;
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::verbs::patched;

impl ApiServer {
    /// Reads or writes `ephemeralcontainers`, `resize` or `approval`.
    pub(super) fn object_part(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let old = self.entry(call)?.served();
        let given = match call.request.method {
            Method::Get => return Ok(Reply::object(200, old)),
            Method::Patch => {
                let patched = patched(call, &old.whole())?;
                decode::object(call, patched, &self.profile)?
            }
            _ => {
                let body = decode::body(call)?;
                decode::object(call, body, &self.profile)?
            }
        };
        let mut next = (*old).clone();
        for field in ["name", "namespace", "uid", "resourceVersion"] {
            let value = &given["metadata"][field];
            if !value.is_null() {
                next["metadata"][field] = value.clone();
            }
        }
        match &*call.path.subresource {
            "approval" => approve(&mut next, &given),
            "resize" => resize(&mut next, &given),
            _ => {
                let errors = add_ephemeral(&mut next, &given);
                if !errors.is_empty() {
                    return Err(Refused::invalid("", "Pod", &call.path.name, &errors, &self.profile));
                }
            }
        }
        self.update_object(call, next)
    }
}

/// Adds ephemeral containers. Existing ones may not change (`ValidatePodEphemeralContainersUpdate`).
fn add_ephemeral(pod: &mut Value, given: &Value) -> Vec<FieldError> {
    const FIELD: &str = "spec.ephemeralContainers";
    let list = |pod: &Value, field: &str| pod["spec"][field].as_array().cloned().unwrap_or_default();
    let (before, after) = (list(pod, "ephemeralContainers"), list(given, "ephemeralContainers"));
    let mut errors = Vec::new();
    for old in &before {
        let name = old["name"].as_str().unwrap_or_default();
        match after.iter().find(|new| new["name"] == old["name"]) {
            None => {
                let why = format!("existing ephemeral containers {name:?} may not be removed\n");
                errors.push(FieldError::forbidden(FIELD, why));
            }
            Some(new) if new != old => {
                let why = format!("existing ephemeral containers {name:?} may not be changed\n");
                errors.push(FieldError::forbidden(FIELD, why));
            }
            Some(_) => {}
        }
    }
    let mut taken: Vec<Value> =
        ["containers", "initContainers"].into_iter().flat_map(|field| list(pod, field)).collect();
    for (index, new) in after.iter().enumerate() {
        let at = |field: &str| format!("{FIELD}[{index}].{field}");
        for field in ["name", "image"] {
            if new[field].as_str().is_none_or(str::is_empty) {
                errors.push(FieldError::required(at(field), ""));
            }
        }
        if taken.iter().any(|other| other["name"] == new["name"]) {
            errors.push(FieldError::new(Cause::Duplicate, at("name"), new["name"].clone(), ""));
        }
        for field in ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
            if !new[field].is_null() {
                errors.push(FieldError::forbidden(at(field), "cannot be set for an Ephemeral Container"));
            }
        }
        taken.push(new.clone());
    }
    pod["spec"]["ephemeralContainers"] = json!(after);
    errors
}

/// Copies the resources of containers, matched by name.
fn resize(pod: &mut Value, given: &Value) {
    for list in ["containers", "initContainers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let new = given["spec"][list].as_array().into_iter().flatten();
            if let Some(new) = new.into_iter().find(|new| new["name"] == container["name"]) {
                for field in ["resources", "resizePolicy"] {
                    if let Some(value) = new.get(field) {
                        container[field] = value.clone();
                    }
                }
            }
        }
    }
}

/// Copies the conditions that approve or deny a CertificateSigningRequest.
fn approve(request: &mut Value, given: &Value) {
    let conditions = given["status"]["conditions"].clone();
    if conditions.is_null() {
        request["status"].as_object_mut().map(|status| status.remove("conditions"));
    } else {
        request["status"]["conditions"] = json!(conditions);
    }
}
