//! Subresources that show the whole object and write one part of it.

use serde_json::{Value, json};

use crate::call::Call;
use crate::call::decode;
use crate::profile::since;
use crate::rejection::Outcome;
use crate::reply::Reply;
use crate::request::Method;
use crate::request::options::PatchType;
use crate::server::ApiServer;

impl ApiServer {
    /// Reads or writes `ephemeralcontainers`, `resize` or `approval`.
    pub(super) fn object_part(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let old = self.entry(call)?.served();
        let given = match call.request.method {
            Method::Get => return Ok(Reply::object(200, old)),
            Method::Patch if PatchType::of(call.request) == Some(PatchType::Apply) => {
                self.applied_object(call)?.0
            }
            Method::Patch => self.patched_object(call)?,
            _ => {
                let body = decode::body(call)?;
                decode::object(call, body, &self.profile)?
            }
        };
        // A manager owns what it gives, even if the endpoint does not write it.
        self.decide_owners(call, &given, &old);
        (call.baseline, call.delta) = (None, None);
        let mut next = (*old).clone();
        for field in ["name", "namespace", "uid", "resourceVersion"] {
            let value = &given["metadata"][field];
            if !value.is_null() {
                next["metadata"][field] = value.clone();
            }
        }
        match &*call.path.subresource {
            "approval" => approve(&mut next, &given),
            "resize" => resize(&mut next, &given, self.profile.minor),
            _ => take(&mut next["spec"], &given["spec"], "ephemeralContainers"),
        }
        self.update_object(call, next)
    }
}

/// Sets a field to its value in another object, or removes it.
fn take(object: &mut Value, from: &Value, field: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    match &from[field] {
        Value::Null => fields.remove(field),
        Value::Array(list) if list.is_empty() => fields.remove(field),
        value => fields.insert(field.to_owned(), value.clone()),
    };
}

/// Copies the resources of a pod and of its containers (`dropNonResizeUpdates`). Other containers are copied whole:
/// validation rejects them.
fn resize(pod: &mut Value, given: &Value, minor: u32) {
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    let count = |pod: &Value, list: &str| pod["spec"][list].as_array().map_or(0, Vec::len);
    if LISTS.iter().any(|list| count(pod, list) != count(given, list)) {
        pod["spec"] = given["spec"].clone();
        return;
    }
    for list in LISTS {
        let new = given["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(old) = pod["spec"].get_mut(list).and_then(Value::as_array_mut) else { continue };
        if old.iter().zip(new).any(|(old, new)| old["name"] != new["name"]) {
            old.clone_from_slice(new);
            continue;
        }
        for (old, new) in old.iter_mut().zip(new) {
            take(old, new, "resources");
            take(old, new, "resizePolicy");
        }
    }
    if minor >= since::POD_RESIZE {
        take(&mut pod["spec"], &given["spec"], "resources");
    }
}

/// Copies the metadata, and the conditions that approve or deny a CertificateSigningRequest.
fn approve(request: &mut Value, given: &Value) {
    request["metadata"] = given["metadata"].clone();
    let conditions = given["status"]["conditions"].clone();
    if conditions.is_null() {
        request["status"].as_object_mut().map(|status| status.remove("conditions"));
    } else {
        request["status"]["conditions"] = json!(conditions);
    }
}
