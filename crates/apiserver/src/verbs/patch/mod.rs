//! The verb `patch`: applies a patch to the served object, and then updates the object with the result.

pub(crate) mod apply;

use serde_json::Value;

use crate::call::Call;
use crate::call::decode;
use crate::field::FieldError;
use crate::gotext;
use crate::kinds::Kind;
use crate::kinds::typed::Source;
use crate::patch::{merged, printed};
use crate::profile::Profile;
use crate::rejection::{BoxedRejection, Outcome};
use crate::reply::Reply;
use crate::request::body;
use crate::request::duplicates::huge_number;
use crate::request::options::{FieldValidation, PatchType};
use crate::request::{Body, JSON_PATCH, MERGE_PATCH};
use crate::server::ApiServer;
use crate::store::Stored;

/// The patch types of custom resources. Built-in kinds also accept strategic merge patches.
const CUSTOM_TYPES: [&str; 3] = [JSON_PATCH, MERGE_PATCH, "application/apply-patch+yaml"];

impl ApiServer {
    pub(crate) fn patch(&mut self, call: &mut Call<'_>) -> Outcome<Reply> {
        call.check_subresource()?;
        if PatchType::of(call.request) == Some(PatchType::Apply) {
            return self.apply_patch(call);
        }
        let object = self.patched_object(call)?;
        self.update_object(call, object)
    }

    /// The decoded object of a call with its patch, which is no apply.
    pub(crate) fn patched_object(&self, call: &mut Call<'_>) -> Outcome<Value> {
        let (kind, patch, repeated) = self.read_patch(call)?;
        self.set_baseline(call);
        let old = call.kind.served(self.entry(call)?);
        self.with_patch(call, kind, &patch, repeated, &old)
    }

    /// The type of the call's patch, the patch, and the paths of its repeated fields.
    pub(crate) fn read_patch(&self, call: &mut Call<'_>) -> Outcome<(PatchType, Value, Vec<String>)> {
        let kind = patch_type(call)?;
        if let Body::Bytes(bytes) = &call.request.body {
            body::check_size(bytes)?;
        }
        self.entry(call)?;
        let (mut patch, repeated) = read(call, kind)?;
        if let Some(skew) = call.skew {
            skew.skew_written(&mut patch);
        }
        Ok((kind, patch, repeated))
    }

    /// Decodes the result of a patch of an object of the call's kind.
    pub(crate) fn with_patch(
        &self,
        call: &mut Call<'_>,
        kind: PatchType,
        patch: &Value,
        repeated: Vec<String>,
        old: &Stored,
    ) -> Outcome<Value> {
        // Only a patch that changes the owners of fields needs an object with its owners.
        let mut object = if changes_owners(kind, patch) {
            merged(kind, patch, &old.whole(), &call.kind)?
        } else {
            merged(kind, patch, old, &call.kind)?
        };
        // Error messages show the object with the owners of its fields.
        let shown = |call: &Call<'_>| {
            let old = old.whole();
            let object = merged(kind, patch, &old, &call.kind).unwrap_or_default();
            printed(kind, patch, &old, &object, &call.kind)
        };
        if kind == PatchType::Json {
            let problems = strict_decoding_errors(patch, repeated);
            match call.options.field_validation {
                FieldValidation::Ignore => {}
                FieldValidation::Warn => call.warnings.extend(problems),
                FieldValidation::Strict if problems.is_empty() => {}
                FieldValidation::Strict => {
                    let why = format!("strict decoding error: {}", problems.join(", "));
                    let error = FieldError::invalid("patch", shown(call), why);
                    return Err(BoxedRejection::invalid("", "", "", &[error], &self.profile));
                }
            }
        } else {
            call.duplicates = repeated;
        }
        call.touched = touched(kind, patch, &call.kind);
        let decoded = if kind == PatchType::Strategic {
            decode::object_from(call, object, Source::Map, &self.profile)
        } else {
            decode::unversioned(call, &mut object).and_then(|()| decode::object(call, object, &self.profile))
        };
        decoded.map_err(|rejection| {
            let shown = match kind {
                PatchType::Strategic => gotext::plain(patch),
                // Patch the object a second time for the message: cheaper than a copy of every patched object.
                _ => shown(call),
            };
            undecodable(rejection, &call.kind, shown, &self.profile)
        })
    }
}

/// The top-level fields that a patch can change; `None` if that is any of them.
fn touched(patch_type: PatchType, patch: &Value, kind: &Kind) -> Option<Vec<String>> {
    let fields = patch.as_object().filter(|_| patch_type != PatchType::Json && kind.is_storage())?;
    let names: Vec<String> = fields.keys().cloned().collect();
    // A directive can change the whole object.
    (!names.iter().any(|name| name.starts_with('$'))).then_some(names)
}

/// Whether a patch can read or change `metadata.managedFields`.
fn changes_owners(kind: PatchType, patch: &Value) -> bool {
    const OWNERS: &str = "/metadata/managedFields";
    if kind != PatchType::Json {
        return patch["metadata"].get("managedFields").is_some();
    }
    let has_owners = |pointer: &str| pointer.starts_with(OWNERS) || matches!(pointer, "" | "/metadata");
    let mut operations = patch.as_array().into_iter().flatten();
    operations
        .any(|operation| ["path", "from"].iter().any(|name| operation[name].as_str().is_some_and(has_owners)))
}

/// The patch type of a call. Rejects types that the kind does not accept.
fn patch_type(call: &Call<'_>) -> Outcome<PatchType> {
    match (PatchType::of(call.request).ok_or(()), &call.kind.custom) {
        (Ok(kind), None) if kind != PatchType::Apply => Ok(kind),
        (Ok(kind @ (PatchType::Json | PatchType::Merge)), Some(_)) => Ok(kind),
        (_, Some(_)) => Err(BoxedRejection::media_type(&CUSTOM_TYPES)),
        (_, None) => Err(BoxedRejection::patch_type()),
    }
}

/// The error for a patch whose result is not an object of the kind. It names the patch, not the body.
fn undecodable(rejection: BoxedRejection, kind: &Kind, shown: String, profile: &Profile) -> BoxedRejection {
    if rejection.code != 400 {
        return rejection;
    }
    // The patch may have changed the kind and the version that the message begins with.
    let end = format!(" cannot be handled as a {}: ", kind.resource.kind);
    let why = rejection.message.split_once(&end).map_or(&*rejection.message, |(_, why)| why);
    let error = FieldError::invalid("patch", shown, why);
    BoxedRejection::invalid("", "", "", &[error], profile)
}

/// The patch, and the paths of its repeated fields.
fn read(call: &Call<'_>, kind: PatchType) -> Outcome<(Value, Vec<String>)> {
    // A real server omits the prefix for strategic merge patches.
    let prefix = if kind == PatchType::Strategic { "" } else { "error decoding patch: " };
    match &call.request.body {
        Body::Value(value) => Ok(((*value).clone(), Vec::new())),
        Body::Bytes(bytes) => {
            body::check_size(bytes)?;
            let parsed = bytes.json();
            // Go decodes all numbers of a merge patch, not only those of known fields.
            if kind != PatchType::Json
                && parsed.is_ok()
                && let Some(number) = huge_number(bytes)
            {
                let why = format!("json: cannot unmarshal number {number} into Go value of type float64");
                return Err(BoxedRejection::bad_request(format!("{prefix}{why}")));
            }
            parsed.map_err(|error| {
                BoxedRejection::bad_request(format!("{prefix}{}", body::json_error(&error, bytes)))
            })
        }
        Body::Empty | Body::Delete(_) => {
            Err(BoxedRejection::bad_request(format!("{prefix}unexpected end of JSON input")))
        }
    }
}

/// The errors of strict decoding of a JSON patch: repeated and unknown members of operations.
fn strict_decoding_errors(patch: &Value, repeated: Vec<String>) -> Vec<String> {
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
