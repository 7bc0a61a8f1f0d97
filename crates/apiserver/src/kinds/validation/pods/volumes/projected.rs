//! Validation of projected volumes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::files::{downward_file, key_to_path};
use crate::kinds::validation::certificates::signer::signer_name;
use crate::kinds::validation::pods::names::{file_mode, unreserved_path};
use crate::kinds::validation::{Errors, Path, items, selector, text};
use crate::names;

const CONFLICT: &str = "conflicting duplicate paths";
const KINDS: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];
const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
/// Bounds for the lifetime of a certificate, in seconds: from an hour to 91 days, or to a day for signers of
/// Kubernetes.
const CERTIFICATE_SECONDS: (i64, i64, i64) = (3600, 91 * 86_400, 86_400);

/// Validates the sources of a projected volume (`validateProjectedVolumeSource`).
pub(super) fn projected(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    file_mode(&source["defaultMode"], at.child("defaultMode"), errors);
    let sources = at.child("sources");
    let mut paths = BTreeSet::new();
    for (index, source) in items(&source["sources"]).iter().enumerate() {
        let place = sources.index(index);
        for kind in KINDS.into_iter().filter(|kind| source[*kind].is_object()) {
            projection(kind, &source[kind], &mut paths, (at, place.child(kind)), errors);
        }
        if KINDS.iter().filter(|kind| source[**kind].is_object()).count() > 1 {
            errors.forbidden(place, "may not specify more than 1 volume type per source");
        }
    }
}

/// Validates a source at `at.1` of the volume at `at.0`; `paths` are those of earlier sources.
fn projection<'a>(
    kind: &str,
    source: &'a Value,
    paths: &mut BTreeSet<&'a str>,
    at: (Path<'_>, Path<'_>),
    errors: &mut Errors<'_>,
) {
    match kind {
        "secret" | "configMap" => keys(source, paths, at, errors),
        "downwardAPI" => {
            for file in items(&source["items"]) {
                downward_file(file, at.1, errors);
                let path = text(&file["path"]);
                claim_path(path, path, paths, at.0, errors);
            }
        }
        "serviceAccountToken" => token(source, at, errors),
        "clusterTrustBundle" => {
            trust_bundle(source, at.1, errors);
            let path = text(&source["path"]);
            if path.is_empty() {
                errors.required(at.1.child("path"), "");
            }
            unreserved_path(path, at.1.child("path"), errors);
            claim_path(path, path, paths, at.0, errors);
        }
        _ => certificate(source, paths, at, errors),
    }
}

/// Rejects a path that another source has, and shows `value`.
fn claim_path<'a>(
    path: &'a str,
    value: &str,
    paths: &mut BTreeSet<&'a str>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    if path.is_empty() {
        return;
    }
    if !paths.insert(path) {
        errors.invalid(at, value, CONFLICT);
    }
}

fn keys<'a>(
    source: &'a Value,
    paths: &mut BTreeSet<&'a str>,
    (volume, at): (Path<'_>, Path<'_>),
    errors: &mut Errors<'_>,
) {
    let name = text(&source["name"]);
    if name.is_empty() {
        errors.required(at.child("name"), "");
    }
    let at = at.child("items");
    for (index, item) in items(&source["items"]).iter().enumerate() {
        key_to_path(item, at.index(index), errors);
        claim_path(text(&item["path"]), name, paths, volume, errors);
    }
}

fn token(source: &Value, (volume, at): (Path<'_>, Path<'_>), errors: &mut Errors<'_>) {
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(0);
    let why = match seconds {
        ..600 => Some("may not specify a duration less than 10 minutes"),
        600..=0x1_0000_0000 => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    };
    if let Some(why) = why {
        errors.invalid(at.child("expirationSeconds"), seconds, why);
    }
    match text(&source["path"]) {
        "" => errors.required(volume.child("path"), ""),
        path => unreserved_path(path, volume.child("path"), errors),
    }
}

/// Requires either a name or the name of a signer.
fn trust_bundle(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let choice = &source["labelSelector"];
    match (source["name"].as_str(), source["signerName"].as_str()) {
        (Some(_), Some(_)) => {
            errors.invalid(at, source.clone(), "only one of name and signerName may be used");
        }
        (Some(name), None) => {
            if name.is_empty() {
                errors.required(at.child("name"), "must be a valid object name");
            }
            for why in bundle_name(name) {
                errors.invalid(at.child("name"), name, format!("not a valid clustertrustbundlename: {why}"));
            }
            if !choice.is_null() {
                let why = "labelSelector must be unset if name is specified";
                errors.invalid(at.child("labelSelector"), choice.clone(), why);
            }
        }
        (None, Some(signer)) => {
            if signer.is_empty() {
                errors.required(at.child("signerName"), "must be a valid signer name");
            }
            signer_name(signer, at.child("signerName"), errors);
            selector::check(choice, at.child("labelSelector"), errors);
        }
        (None, None) => errors.required(at, "either name or signerName must be specified"),
    }
}

/// The problems of the name of a ClusterTrustBundle, which may begin with the name of its signer
/// (`ValidateClusterTrustBundleName`).
fn bundle_name(name: &str) -> Vec<String> {
    let own = name.rsplit_once(':').map_or(name, |(_, own)| own);
    names::subdomain(own)
}

fn certificate<'a>(
    source: &'a Value,
    paths: &mut BTreeSet<&'a str>,
    (volume, at): (Path<'_>, Path<'_>),
    errors: &mut Errors<'_>,
) {
    let signer = text(&source["signerName"]);
    signer_name(signer, at.child("signerName"), errors);
    if !KEY_TYPES.contains(&text(&source["keyType"])) {
        errors.unsupported(at.child("keyType"), text(&source["keyType"]), &KEY_TYPES);
    }
    if let Some(seconds) = source["maxExpirationSeconds"].as_i64() {
        let host = signer.split('/').next().unwrap_or_default();
        let is_own = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        let (least, most, most_of_own) = CERTIFICATE_SECONDS;
        let most = if is_own { most_of_own } else { most };
        for (fits, bound) in
            [(seconds >= least, format!(">= {least}")), (seconds <= most, format!("<= {most}"))]
        {
            if !fits {
                let why = format!("if provided, maxExpirationSeconds must be {bound}");
                errors.invalid(at.child("maxExpirationSeconds"), seconds, why);
            }
        }
    }
    let mut count = 0;
    for field in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = text(&source[field]);
        if !path.is_empty() {
            count += 1;
            unreserved_path(path, at.child(field), errors);
            claim_path(path, path, paths, volume, errors);
        }
    }
    if count == 0 {
        errors
            .required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
    }
}
