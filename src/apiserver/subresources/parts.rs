//! Subresources that are read as the whole object and write one part of it.

use serde_json::{Value, json};

use crate::apiserver::call::Call;
use crate::apiserver::decode;
use crate::apiserver::reply::Reply;
use crate::apiserver::request::Method;
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::Outcome;
use crate::apiserver::verbs::patched;

impl ApiServer {
    /// `ephemeralcontainers`, `resize` and `approval`.
    pub(super) fn part(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        let old = self.entry(call)?.served();
        let given = match call.request.method {
            Method::Get => return Ok(Reply::object(200, old)),
            Method::Patch => {
                let patched = patched(call, &old)?;
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
            _ => add_ephemeral(&mut next, &given),
        }
        self.update_object(call, next)
    }
}

/// Only containers are added; those that are there stay as they are.
fn add_ephemeral(pod: &mut Value, given: &Value) {
    if let Some(list) = given["spec"].get("ephemeralContainers") {
        pod["spec"]["ephemeralContainers"] = list.clone();
    }
}

/// The resources of containers, by name.
fn resize(pod: &mut Value, given: &Value) {
    for list in ["containers", "initContainers"] {
        for one in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let new = given["spec"][list].as_array().into_iter().flatten();
            if let Some(new) = new.into_iter().find(|new| new["name"] == one["name"]) {
                for field in ["resources", "resizePolicy"] {
                    if let Some(value) = new.get(field) {
                        one[field] = value.clone();
                    }
                }
            }
        }
    }
}

/// The conditions that approve or deny.
fn approve(request: &mut Value, given: &Value) {
    let conditions = given["status"]["conditions"].clone();
    if conditions.is_null() {
        request["status"].as_object_mut().map(|status| status.remove("conditions"));
    } else {
        request["status"]["conditions"] = json!(conditions);
    }
}
