//! Validation of certificate signing requests (`pkg/apis/certificates/validation`).

mod conditions;
pub(super) mod key_pair;
pub(crate) mod pem;
pub(super) mod signer;

use base64::Engine as _;
use serde_json::Value;

use self::conditions::{Change, conditions};
use super::{Errors, Path, items, text};
use crate::repeats::repeated;

/// Valid usages of certificates, in alphabetical order.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Validates a new request, or an update, which can change neither the conditions that approve or deny it nor the
/// certificate.
pub(super) fn request(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    check(object, old, Change::Other, errors);
}

/// Validates a write of the status, which may set the certificate.
pub(super) fn status(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    check(object, old, Change::Status, errors);
}

/// Validates a write of the subresource `approval`.
pub(super) fn approval(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    check(object, old, Change::Approval, errors);
}

fn check(object: &Value, old: Option<&Value>, change: Change, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    if let Some(old) = old {
        conditions(object, Some(old), errors);
        certificate(object, Some(old), errors);
        change.check(object, old, errors);
        // The specification never changes.
        return;
    }
    signed(&spec["request"], at.child("request"), errors);
    usages(&spec["usages"], at.child("usages"), errors);
    signer::check(text(&spec["signerName"]), at.child("signerName"), errors);
    if let Some(seconds) = spec["expirationSeconds"].as_i64().filter(|seconds| *seconds < 600) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(at.child("expirationSeconds"), seconds, why);
    }
    conditions(object, None, errors);
    certificate(object, None, errors);
}

fn decode(value: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text(value)).unwrap_or_default()
}

/// Requires a PEM block with a request. Its contents are not parsed.
fn signed(request: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let first = pem::blocks(&decode(request)).into_iter().next();
    if first.is_none_or(|block| block.label != "CERTIFICATE REQUEST") {
        errors.invalid(at, request.clone(), "PEM block type must be CERTIFICATE REQUEST");
    }
}

fn usages(usages: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(usages);
    if list.is_empty() {
        errors.required(at, "");
    }
    let is_repeated = repeated(list.iter().map(text));
    for (index, usage) in list.iter().map(text).enumerate() {
        if !USAGES.contains(&usage) {
            errors.unsupported(at.index(index), usage, &USAGES);
        }
        if is_repeated[index] {
            errors.duplicate(at.index(index), usage);
        }
    }
}

/// Requires PEM blocks with certificates, if the certificate changes (`validateCertificate`).
fn certificate(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let given = &object["status"]["certificate"];
    if text(given).is_empty() || old.is_some_and(|old| old["status"]["certificate"] == *given) {
        return;
    }
    if old.is_some_and(|old| problem(&old["status"]["certificate"]).is_some()) {
        return;
    }
    if let Some(why) = problem(given) {
        errors.invalid(Path::Root.child("status").child("certificate"), "<certificate data>", why);
    }
}

fn problem(certificate: &Value) -> Option<String> {
    if text(certificate).is_empty() {
        return None;
    }
    let blocks = pem::blocks(&decode(certificate));
    if blocks.is_empty() {
        return Some("must contain at least one CERTIFICATE PEM block".to_owned());
    }
    blocks.iter().find_map(|block| {
        if block.label != "CERTIFICATE" {
            let found = crate::gotext::quote(&block.label);
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {found}"));
        }
        if block.has_headers {
            return Some("no PEM block headers are permitted".to_owned());
        }
        if block.bytes.is_empty() {
            return Some("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
        (!pem::is_sequence(&block.bytes)).then(|| "x509: malformed certificate".to_owned())
    })
}

#[cfg(test)]
mod tests;
