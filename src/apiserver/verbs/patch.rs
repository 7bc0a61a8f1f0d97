//! JSON and merge patches. Each is applied to the object as it is read, and then goes the way of an update.

mod operations;

use serde_json::Value;

use crate::apiserver::body;
use crate::apiserver::call::Call;
use crate::apiserver::decode;
use crate::apiserver::field::FieldError;
use crate::apiserver::gotext::json_type;
use crate::apiserver::kinds::Kind;
use crate::apiserver::profile::Profile;
use crate::apiserver::reply::Reply;
use crate::apiserver::request::{Body, JSON_PATCH, MERGE_PATCH};
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};

const APPLY: &str = "application/apply-patch+yaml";

impl ApiServer {
    pub(crate) fn patch(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        call.check_subresource()?;
        let content_type = call.request.content_type.split(';').next().unwrap_or("").trim().to_owned();
        match content_type.as_str() {
            JSON_PATCH | MERGE_PATCH => {}
            // Seam: strategic merge and apply are made of the same parts, and end in `update_object` too. Custom
            // resources name all types that a real server takes; built-in kinds do not get that far.
            _ if call.kind.custom.is_some() => {
                return Err(Refused::media_type(&[JSON_PATCH, MERGE_PATCH, APPLY]));
            }
            _ => return Err(Refused::patch_type()),
        }
        let patch = read(call)?;
        let entry = self.entry(call)?;
        let old = Self::served(&call.kind, entry);
        let patched = apply(&content_type, &patch, &old)?;
        let object = decode::object(call, patched, &self.profile).map_err(|refused| {
            // The text needs the patched object, which is no more; to make it anew is cheaper than to keep it each time.
            let patched = apply(&content_type, &patch, &old).unwrap_or_default();
            undecodable(refused, &call.kind, &patched, &self.profile)
        })?;
        self.update_object(call, object)
    }
}

/// A patch whose result is no object of the kind: a client error of the patch, not of the body.
fn undecodable(refused: Refused, kind: &Kind, patched: &Value, profile: &Profile) -> Refused {
    if refused.code != 400 {
        return refused;
    }
    let why = refused.message.strip_prefix(&decode::unhandled_as(kind)).unwrap_or(&refused.message);
    let error = FieldError::invalid("patch", patched.to_string(), why);
    Refused::invalid("", "", "", &[error], profile)
}

fn read(call: &Call<'_>) -> Outcome<Value> {
    match &call.request.body {
        Body::Value(value) => Ok((*value).clone()),
        Body::Bytes(bytes) => {
            body::check_size(bytes)?;
            serde_json::from_slice(bytes).map_err(|error| {
                Refused::bad_request(format!("error decoding patch: {}", body::json_error(&error)))
            })
        }
        Body::Empty | Body::Delete(_) => {
            Err(Refused::bad_request("error decoding patch: unexpected end of JSON input"))
        }
    }
}

fn apply(content_type: &str, patch: &Value, old: &Value) -> Outcome<Value> {
    if content_type == JSON_PATCH {
        return operations::apply(patch, old);
    }
    if patch.is_null() {
        return Err(Refused::bad_request("Invalid JSON Patch"));
    }
    if !patch.is_object() {
        return Err(wrong_type(patch, "map[string]interface {}"));
    }
    let mut object = old.clone();
    json_patch::merge(&mut object, patch);
    Ok(object)
}

/// A part of the patch that is not what Go decodes it into.
fn wrong_type(part: &Value, expected: &str) -> Refused {
    let is = json_type(part);
    let why = format!("json: cannot unmarshal {is} into Go value of type {expected}");
    Refused::bad_request(format!("error decoding patch: {why}"))
}
