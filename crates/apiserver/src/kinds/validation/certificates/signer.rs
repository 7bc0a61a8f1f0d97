//! Validation of the names of signers (`ValidateSignerName`).

use crate::gotext;
use crate::kinds::validation::{Errors, Path};
use crate::names;

const LEGACY: &str = "kubernetes.io/legacy-unknown";
const MOST_DOMAIN: usize = 253;
/// A domain, a slash, and a path with a DNS label, a dot and a DNS subdomain.
const MOST: usize = MOST_DOMAIN + 1 + 253 + 63 + 1;

/// Validates the signer of a request, which is not the one of early versions.
pub(super) fn check(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name == LEGACY {
        errors.invalid(at, name, "the legacy signerName is not allowed via this API version");
    } else {
        signer_name(name, at, errors);
    }
}

/// Requires a domain and a path.
pub(in crate::kinds::validation) fn signer_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    let segments: Vec<&str> = name.split('/').collect();
    let &[domain, path] = segments.as_slice() else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(at, name, why);
        return;
    };
    if domain.len() > MOST_DOMAIN {
        errors.too_long(at, MOST_DOMAIN as u64);
    }
    parts(domain, names::label, at, errors);
    if !domain.contains('.') {
        errors.invalid(at, domain, "should be a domain with at least two segments separated by dots");
    }
    parts(path, names::subdomain, at, errors);
    if name.len() > MOST {
        errors.too_long(at, MOST as u64);
    }
}

/// Reports the problems of the first invalid part of a segment.
fn parts(segment: &str, rule: fn(&str) -> Vec<String>, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = segment.split('.').map(|part| (part, rule(part)));
    if let Some((part, problems)) = problems.into_iter().find(|(_, problems)| !problems.is_empty()) {
        for why in problems {
            errors.invalid(at, segment, format!("validating label {}: {why}", gotext::quote(part)));
        }
    }
}
