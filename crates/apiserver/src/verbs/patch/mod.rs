//! Patches. Each is applied to the object as it is read, and then goes the way of an update.

pub(crate) mod apply;
mod operations;
mod strategic;

use serde_json::Value;

use crate::call::Call;
use crate::field::FieldError;
use crate::gotext::{self, json_type};
use crate::kinds::Kind;
use crate::options::{FieldValidation, PatchType};
use crate::profile::Profile;
use crate::reply::Reply;
use crate::request::{Body, JSON_PATCH, MERGE_PATCH};
use crate::server::ApiServer;
use crate::status::{Outcome, Refused};
use crate::{body, decode};

/// What custom resources accept; built-in kinds accept strategic merge patches as well.
const CUSTOM_TYPES: [&str; 3] = [JSON_PATCH, MERGE_PATCH, "application/apply-patch+yaml"];

impl ApiServer {
    pub(crate) fn patch(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        call.check_subresource()?;
        if PatchType::of(call.request) == Some(PatchType::Apply) {
            return self.apply_patch(call);
        }
        let kind = patch_type(call)?;
        let (patch, repeated) = read(call, kind)?;
        self.hold_against(call);
        let entry = self.entry(call)?;
        let old = Self::served(&call.kind, entry);
        // The owners of fields are the server's: where a patch says nothing of them, it reads those that are stored.
        let object = if is_of_owners(kind, &patch) {
            merged(kind, &patch, &old.whole(), &call.kind)?
        } else {
            merged(kind, &patch, &old, &call.kind)?
        };
        // Errors show them.
        let shown = |call: &Call<'_>| merged(kind, &patch, &old.whole(), &call.kind).unwrap_or_default();
        if kind == PatchType::Json {
            let odd = odd_operations(&patch, repeated);
            match call.options.field_validation {
                FieldValidation::Ignore => {}
                FieldValidation::Warn => call.warnings.extend(odd),
                FieldValidation::Strict if odd.is_empty() => {}
                FieldValidation::Strict => {
                    let why = format!("strict decoding error: {}", odd.join(", "));
                    let error = FieldError::invalid("patch", shown(call).to_string(), why);
                    return Err(Refused::invalid("", "", "", &[error], &self.profile));
                }
            }
        } else {
            call.duplicates = repeated;
        }
        call.touched = touched(kind, &patch, &call.kind);
        let object = decode::object(call, object, &self.profile).map_err(|refused| {
            let shown = match kind {
                PatchType::Strategic => gotext::plain(&patch),
                // The text needs the patched object, which is no more; to make it anew is cheaper than to keep it.
                _ => shown(call).to_string(),
            };
            undecodable(refused, &call.kind, shown, &self.profile)
        })?;
        self.update_object(call, object)
    }
}

/// The fields of an object that a patch can change, where that is easily told; the others are as they were stored.
fn touched(kind: PatchType, patch: &Value, of: &Kind) -> Option<Vec<String>> {
    let fields = patch.as_object().filter(|_| kind != PatchType::Json && of.is_storage())?;
    let names: Vec<String> = fields.keys().cloned().collect();
    // Directives say something of all of it.
    (!names.iter().any(|name| name.starts_with('$'))).then_some(names)
}

/// Whether a patch says something of the owners of fields.
fn is_of_owners(kind: PatchType, patch: &Value) -> bool {
    const OWNERS: &str = "/metadata/managedFields";
    if kind != PatchType::Json {
        return patch["metadata"].get("managedFields").is_some();
    }
    let of_owners = |place: &str| place.starts_with(OWNERS) || matches!(place, "" | "/metadata");
    let mut operations = patch.as_array().into_iter().flatten();
    operations
        .any(|operation| ["path", "from"].iter().any(|name| operation[name].as_str().is_some_and(of_owners)))
}

/// An object as operations of a JSON patch leave it.
///
/// # Errors
/// They cannot be done.
pub(crate) fn patched_by(operations: &Value, object: &Value) -> Outcome<Value> {
    operations::apply(operations, object)
}

/// Applies the patch of a call to something that is not the object itself, such as its scale.
pub(crate) fn patched(call: &Call<'_>, old: &Value) -> Outcome<Value> {
    let kind = patch_type(call)?;
    merged(kind, &read(call, kind)?.0, old, &call.kind)
}

/// How the patch of a call is to be understood; of the types that there are, custom resources take fewer.
fn patch_type(call: &Call<'_>) -> Outcome<PatchType> {
    match (PatchType::of(call.request).ok_or(()), &call.kind.custom) {
        (Ok(kind), None) if kind != PatchType::Apply => Ok(kind),
        (Ok(kind @ (PatchType::Json | PatchType::Merge)), Some(_)) => Ok(kind),
        (_, Some(_)) => Err(Refused::media_type(&CUSTOM_TYPES)),
        (_, None) => Err(Refused::patch_type()),
    }
}

/// A patch whose result is no object of the kind: a client error of the patch, not of the body.
fn undecodable(refused: Refused, kind: &Kind, shown: String, profile: &Profile) -> Refused {
    if refused.code != 400 {
        return refused;
    }
    let why = refused.message.strip_prefix(&decode::unhandled_as(kind)).unwrap_or(&refused.message);
    let error = FieldError::invalid("patch", shown, why);
    Refused::invalid("", "", "", &[error], profile)
}

/// The patch, with the paths of fields that stand in it more than once.
fn read(call: &Call<'_>, kind: PatchType) -> Outcome<(Value, Vec<String>)> {
    // The server names the mistakes of strategic merge patches without saying that it was decoding one.
    let prefix = if kind == PatchType::Strategic { "" } else { "error decoding patch: " };
    match &call.request.body {
        Body::Value(value) => Ok(((*value).clone(), Vec::new())),
        Body::Bytes(bytes) => {
            body::check_size(bytes)?;
            bytes
                .json()
                .map_err(|error| Refused::bad_request(format!("{prefix}{}", body::json_error(&error))))
        }
        Body::Empty | Body::Delete(_) => {
            Err(Refused::bad_request(format!("{prefix}unexpected end of JSON input")))
        }
    }
}

/// What strict decoding finds in a JSON patch: repeated members of operations, and unknown ones.
fn odd_operations(patch: &Value, repeated: Vec<String>) -> Vec<String> {
    const KNOWN: [&str; 4] = ["op", "path", "from", "value"];
    let mut texts: Vec<String> = repeated
        .into_iter()
        .map(|path| format!("json patch duplicate field {}", gotext::quote(&path)))
        .collect();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        let members = operation.as_object().into_iter().flat_map(serde_json::Map::keys);
        for name in members.filter(|name| !KNOWN.contains(&name.as_str())) {
            let path = gotext::quote(&format!("[{index}].{name}"));
            texts.push(format!("json patch unknown field {path}"));
        }
    }
    texts
}

/// The object with a patch that is no apply.
fn merged(kind: PatchType, patch: &Value, old: &Value, of: &Kind) -> Outcome<Value> {
    match (kind, patch) {
        (PatchType::Json, _) => operations::apply(patch, old),
        (PatchType::Strategic, Value::Null) => Ok(old.clone()),
        (PatchType::Strategic, Value::Object(patch)) => strategic::apply(patch.clone(), old, of),
        (PatchType::Strategic, _) => {
            Err(Refused::bad_request(cannot_unmarshal(patch, "map[string]interface {}")))
        }
        (_, Value::Null) => Err(Refused::bad_request("Invalid JSON Patch")),
        (_, Value::Object(_)) => {
            let mut object = old.clone();
            json_patch::merge(&mut object, patch);
            Ok(object)
        }
        _ => Err(wrong_type(patch, "map[string]interface {}")),
    }
}

/// A part of the patch that is not what Go decodes it into.
fn wrong_type(part: &Value, expected: &str) -> Refused {
    Refused::bad_request(format!("error decoding patch: {}", cannot_unmarshal(part, expected)))
}

fn cannot_unmarshal(part: &Value, expected: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {expected}", json_type(part))
}
