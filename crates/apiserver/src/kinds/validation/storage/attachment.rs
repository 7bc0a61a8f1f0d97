//! Validation of attachments of volumes (`ValidateVolumeAttachment`).

use serde_json::Value;

use super::driver_name;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, Path, text};
use crate::names;
use crate::profile::since;

const MOST_METADATA_BYTES: usize = 256 * 1024;
const MOST_MESSAGE_BYTES: usize = 1024;
const ONE_SOURCE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

pub(in crate::kinds::validation) fn attachment(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    let attacher = text(&spec["attacher"]);
    driver_name(attacher, at.child("attacher"), errors);
    if attacher.is_empty() && errors.profile.minor < since::NAMES_REQUIRED {
        errors.required(at.child("attacher"), "");
    }
    source(&spec["source"], at.child("source"), errors);
    let node = text(&spec["nodeName"]);
    errors.each(at.child("nodeName"), node, names::subdomain(node));
    status(object, None, errors);
    if let Some(name) = spec["source"]["persistentVolumeName"].as_str() {
        let at = at.child("source");
        errors.each(at.child("persistentVolumeName"), name, names::subdomain(name));
    }
    if old.is_some_and(|old| old["spec"] != *spec) {
        let shown = internal_form(spec, "VolumeAttachmentSpec");
        errors.invalid_shown(at, shown.clone(), shown, "field is immutable");
    }
}

/// Requires one source (`validateVolumeAttachmentSource`).
fn source(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match (source["inlineVolumeSpec"].is_object(), source["persistentVolumeName"].as_str()) {
        (false, None) => errors.required(at, ONE_SOURCE),
        (true, Some(_)) => errors.forbidden(at, ONE_SOURCE),
        (false, Some("")) => {
            let why = "must specify non empty persistentVolumeName";
            errors.required(at.child("persistentVolumeName"), why);
        }
        (false, Some(_)) => {}
        (true, None) => inline(&source["inlineVolumeSpec"], at.child("inlineVolumeSpec"), errors),
    }
}

/// Rejects what a volume inside a pod cannot have (`ValidatePersistentVolumeSpec` for inline volumes).
fn inline(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["claimRef", "capacity", "nodeAffinity", "storageClassName"] {
        if !crate::kinds::validation::absent(&spec[field]) {
            errors.forbidden(at.child(field), "may not be specified in the context of inline volumes");
        }
    }
    if spec["csi"].is_null() {
        errors.required(at.child("csi"), "has to be specified in the context of inline volumes");
    }
    super::access_modes(spec, "", at, errors);
    super::source::check(spec, "", at, errors);
}

/// Limits what drivers report (`validateVolumeAttachmentStatus`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    let status = &object["status"];
    let metadata = status["attachmentMetadata"].as_object().into_iter().flatten();
    let size: usize = metadata.map(|(key, value)| key.len() + text(value).len()).sum();
    if size > MOST_METADATA_BYTES {
        errors.too_long(at.child("attachmentMetadata"), MOST_METADATA_BYTES as u64);
    }
    for field in ["attachError", "detachError"] {
        let at = at.child(field);
        if text(&status[field]["message"]).len() > MOST_MESSAGE_BYTES {
            // A real server reports the limit for the metadata.
            errors.too_long(at.child("message"), MOST_METADATA_BYTES as u64);
        }
        if let Some(code) = status[field]["errorCode"].as_i64().filter(|code| *code < 0) {
            let why = "must be between 0 and 2147483647, inclusive";
            errors.invalid(at.child("errorCode"), code, why);
        }
    }
}
