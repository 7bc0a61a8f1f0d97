//! JSON and merge patches. Each is applied to the object as it is read, and then goes the way of an update.

use serde_json::Value;

use crate::apiserver::call::Call;
use crate::apiserver::decode;
use crate::apiserver::gotext::json_type;
use crate::apiserver::reply::Reply;
use crate::apiserver::request::{Body, JSON_PATCH, MERGE_PATCH};
use crate::apiserver::server::ApiServer;
use crate::apiserver::status::{Outcome, Refused};

/// The most operations of one JSON patch.
const OPERATIONS_MAX: usize = 10_000;

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
        let mut object = (*Self::served(&call.kind, entry)).clone();
        apply(&content_type, &patch, &mut object)?;
        let object = decode::object(call, object, &self.profile)?;
        self.update_object(call, object)
    }
}

fn read(call: &Call<'_>) -> Outcome<Value> {
    match &call.request.body {
        Body::Value(value) => Ok((*value).clone()),
        Body::Bytes(bytes) => {
            decode::check_size(bytes)?;
            serde_json::from_slice(bytes).map_err(|error| {
                let why = if error.is_eof() {
                    "unexpected end of JSON input".to_owned()
                } else {
                    error.to_string()
                };
                Refused::bad_request(format!("error decoding patch: {why}"))
            })
        }
        Body::Empty | Body::Delete(_) => {
            Err(Refused::bad_request("error decoding patch: unexpected end of JSON input"))
        }
    }
}

fn apply(content_type: &str, patch: &Value, object: &mut Value) -> Outcome<()> {
    if content_type == MERGE_PATCH {
        if !patch.is_object() {
            let is = json_type(patch);
            let why = format!("json: cannot unmarshal {is} into Go value of type map[string]interface {{}}");
            return Err(Refused::bad_request(format!("error decoding patch: {why}")));
        }
        json_patch::merge(object, patch);
        return Ok(());
    }
    let count = patch.as_array().map_or(0, Vec::len);
    if count > OPERATIONS_MAX {
        return Err(Refused::too_large(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}"
        )));
    }
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|_| Refused::unprocessable())?;
    json_patch::patch(object, &patch).map_err(|_| Refused::unprocessable())
}
