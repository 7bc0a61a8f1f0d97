//! Validation of disruption budgets and certificate signing requests.

use serde_json::Value;

use crate::kinds::validation::workloads::workload;
use crate::kinds::validation::{Errors, Path, absent, items, one_of_if_given, selector, text};

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

pub(in crate::kinds::validation) fn budget(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid(at, spec.clone(), why);
    }
    for field in ["minAvailable", "maxUnavailable"] {
        if spec[field].is_null() {
            continue;
        }
        let at = Path::Field(&at, field);
        workload::amount(&spec[field], at, errors);
        if workload::percentage(&spec[field]).is_some_and(|percent| percent > 100) {
            errors.invalid(at, spec[field].clone(), "must not be greater than 100%");
        }
    }
    if spec["selector"].is_object() {
        selector::check(&spec["selector"], Path::Field(&at, "selector"), errors);
    }
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = Path::Field(&at, "unhealthyPodEvictionPolicy");
    one_of_if_given(&spec["unhealthyPodEvictionPolicy"], &policies, policy, errors);
}

pub(in crate::kinds::validation) fn signing_request(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    if old.is_some() {
        return;
    }
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    if absent(&spec["request"]) {
        errors.invalid(Path::Field(&at, "request"), "", "PEM block type must be CERTIFICATE REQUEST");
    }
    if items(&spec["usages"]).is_empty() {
        errors.required(Path::Field(&at, "usages"), "");
    }
    let place = Path::Field(&at, "usages");
    let mut seen = Vec::new();
    for (index, usage) in items(&spec["usages"]).iter().map(text).enumerate() {
        if !USAGES.contains(&usage) {
            errors.unsupported(Path::Index(&place, index), usage, &USAGES);
        }
        if seen.contains(&usage) {
            errors.duplicate(Path::Index(&place, index), usage);
        }
        seen.push(usage);
    }
    let signer = text(&spec["signerName"]);
    if signer.is_empty() {
        errors.required(Path::Field(&at, "signerName"), "");
    } else if !signer.contains('/') {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(Path::Field(&at, "signerName"), signer, why);
    }
    if let Some(seconds) = spec["expirationSeconds"].as_i64().filter(|seconds| *seconds < 600) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(Path::Field(&at, "expirationSeconds"), seconds, why);
    }
}
