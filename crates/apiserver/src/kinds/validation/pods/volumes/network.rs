//! Validation of volumes that servers and drivers provide.

use serde_json::Value;

use crate::kinds::validation::pods::names::plain_label;
use crate::kinds::validation::storage::driver_name;
use crate::kinds::validation::{Errors, Path, text};
use crate::names;

const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";

/// Requires an absolute path (`validateNFSVolumeSource`).
pub(super) fn nfs(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let path = text(&source["path"]);
    if !path.starts_with('/') {
        errors.invalid(at.child("path"), path, "must be an absolute path");
    }
}

/// Requires the name of a Secret that is referred to.
pub(super) fn secret_reference(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if source["secretRef"].is_object() && text(&source["secretRef"]["name"]).is_empty() {
        errors.required(at.child("secretRef").child("name"), "");
    }
}

/// Validates a Quobyte volume (`validateQuobyteVolumeSource`).
pub(in crate::kinds::validation) fn quobyte(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let registry = text(&source["registry"]);
    if registry.is_empty() {
        errors.required(at.child("registry"), PAIRS);
    } else if text(&source["tenant"]).len() >= 65 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        errors.required(at.child("tenant"), why);
    } else {
        for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            errors.invalid(at.child("registry"), registry, PAIRS);
        }
    }
}

/// Whether a text is a host and a port (`net.SplitHostPort`).
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host = match host.strip_prefix('[') {
        Some(inner) => match inner.strip_suffix(']') {
            Some(inner) => inner,
            None => return false,
        },
        None if host.contains(':') => return false,
        None => host,
    };
    !host.contains(['[', ']']) && !port.contains(['[', ']'])
}

/// Validates a StorageOS volume (`validateStorageOSVolumeSource`).
pub(super) fn storage_os(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["volumeName", "volumeNamespace"] {
        if !text(&source[field]).is_empty() {
            plain_label(&source[field], at.child(field), errors);
        }
    }
    secret_reference(source, at, errors);
}

/// Validates a volume of a CSI driver (`validateCSIVolumeSource`).
pub(super) fn csi(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    driver_name(text(&source["driver"]), at.child("driver"), errors);
    let secret = &source["nodePublishSecretRef"];
    if secret.is_object() {
        match text(&secret["name"]) {
            "" => errors.required(at.child("nodePublishSecretRef").child("name"), ""),
            name => errors.each(at.child("name"), name, names::subdomain(name)),
        }
    }
}
