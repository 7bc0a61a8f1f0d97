//! Rules for names, paths, numbers and addresses in pods.

use std::net::IpAddr;

use serde_json::Value;

use crate::kinds::validation::networking::{PORT_RANGE, port};
use crate::kinds::validation::{Errors, Path, text};
use crate::names;
use crate::profile::since;

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const ENV_NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
const STRICT_ENV_NAME: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', \
    '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used \
    for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";
const RELAXED_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
    validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

/// Requires a name that is a DNS label.
pub(super) fn label(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(name) {
        "" => errors.required(at, ""),
        name => errors.each(at, name, names::label(name)),
    }
}

/// Requires a DNS label, without saying that it is required (`ValidateDNS1123Label`).
pub(super) fn plain_label(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.each(at, text(name), names::label(text(name)));
}

/// Requires a DNS subdomain (`ValidateDNS1123Subdomain`).
pub(super) fn subdomain(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.each(at, text(name), names::subdomain(text(name)));
}

/// Requires a DNS subdomain if the field has a value.
pub(super) fn subdomain_if_given(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !text(name).is_empty() {
        subdomain(name, at, errors);
    }
}

/// Requires a qualified name (`ValidateQualifiedName`).
pub(super) fn qualified(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.each(at, name, names::labels::label_key(name));
}

/// The problems of a DNS subdomain that may have underscores (`IsDNS1123SubdomainWithUnderscore`).
pub(super) fn relaxed_subdomain(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_part = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part).as_bytes();
        part.iter().all(|b| inner(*b) || matches!(b, b'-' | b'_'))
            && part.first().is_some_and(|b| inner(*b))
            && part.last().is_some_and(|b| inner(*b))
    };
    if !name.split('.').all(is_part) {
        problems.push(RELAXED_SUBDOMAIN.to_owned());
    }
    problems
}

/// The problems of the name of an environment variable, or of its prefix (`IsRelaxedEnvVarName`,
/// `IsEnvVarName`).
pub(super) fn environment_name(name: &str, minor: u32) -> Vec<String> {
    if minor >= since::RELAXED_ENVIRONMENT {
        return relaxed_environment_name(name);
    }
    let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let mut problems = Vec::new();
    if !is_plain || name.bytes().next().is_none_or(|first| first.is_ascii_digit()) {
        problems.push(STRICT_ENV_NAME.to_owned());
    }
    problems.extend(parent_folder(name));
    problems
}

/// The problems of a name of printable characters.
pub(super) fn relaxed_environment_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.is_empty() {
        problems.push("environment variable name must be non-empty".to_owned());
    }
    if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        problems.push(ENV_NAME.to_owned());
    }
    problems
}

/// The problem of a name that leads out of its folder.
fn parent_folder(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("must not be '{name}'")),
        _ => name.starts_with("..").then(|| "must not start with '..'".to_owned()),
    }
}

/// Validates the number or the name of a port that must be given: an absent one is 0.
pub(super) fn given_port(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if value.is_null() {
        errors.invalid(at, 0, PORT_RANGE);
    } else {
        port(value, at, errors);
    }
}

/// Requires permission bits, if there is a mode.
pub(super) fn file_mode(mode: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(mode) = mode.as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        errors.invalid(at, mode, FILE_MODE);
    }
}

/// Requires the number of a user or a group, if there is one (`IsValidUserID`, `IsValidGroupID`).
pub(super) fn user_or_group(id: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(id) = id.as_i64().filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        errors.invalid(at, id, "must be between 0 and 2147483647, inclusive");
    }
}

/// Rejects `..` within a path (`validatePathNoBacksteps`).
pub(super) fn no_backsteps(path: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if has_backsteps(path) {
        errors.invalid(at, path, "must not contain '..'");
    }
}

/// Whether a part of a path is `..`.
pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Requires a relative path that stays in its folder (`validateLocalDescendingPath`).
pub(super) fn descending_path(path: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if path.starts_with('/') {
        errors.invalid(at, path, "must be a relative path");
    }
    no_backsteps(path, at, errors);
}

/// Like [`descending_path`]; names that begin with two dots are reserved (`ValidateLocalNonReservedPath`).
pub(super) fn unreserved_path(path: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    descending_path(path, at, errors);
    if path.starts_with("..") && !path.starts_with("../") {
        errors.invalid(at, path, "must not start with '..'");
    }
}

/// Requires an address, unless the old object has it (`IsValidIPForLegacyField`). Early minors accept leading
/// zeros and IPv4 addresses in IPv6 form.
pub(super) fn address(value: &str, old: &[&str], at: Path<'_>, errors: &mut Errors<'_>) {
    if old.contains(&value) {
        return;
    }
    let Some(parsed) = parse_address(value) else {
        errors.invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        return;
    };
    if errors.profile.minor < since::STRICT_ADDRESSES {
        return;
    }
    if value.parse::<IpAddr>().is_err() {
        errors.invalid(at, value, "must not have leading 0s");
    }
    if is_mapped(parsed) && value.contains(':') {
        errors.invalid(at, value, "must not be an IPv4-mapped IPv6 address");
    }
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Parses an address; numbers may have leading zeros (`ParseIPSloppy`).
pub(super) fn parse_address(value: &str) -> Option<IpAddr> {
    if let Ok(address) = value.parse() {
        return Some(address);
    }
    let (before, dotted) = value.rfind(':').map_or(("", value), |at| value.split_at(at + 1));
    let parts: Vec<&str> = dotted.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if parts.len() != 4 || !parts.iter().all(is_number) {
        return None;
    }
    let plain = parts.iter().map(|part| match part.trim_start_matches('0') {
        "" => "0",
        part => part,
    });
    format!("{before}{}", plain.collect::<Vec<_>>().join(".")).parse().ok()
}

/// The warning about an address in an unusual form (`GetWarningsForIP`).
pub(super) fn address_warning(value: &str, at: Path<'_>) -> Option<String> {
    let parsed = parse_address(value)?;
    let strict = value.parse::<IpAddr>().ok();
    match strict {
        None => {}
        Some(address) if is_mapped(address) => {}
        Some(IpAddr::V6(address)) if address.to_string() != value => {
            let at = at.text();
            return Some(format!(
                "{at}: IPv6 address \"{value}\" should be in RFC 5952 canonical format (\"{address}\")"
            ));
        }
        Some(_) => return None,
    }
    let plain = match parsed {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(parsed, IpAddr::V4),
        IpAddr::V4(_) => parsed,
    };
    Some(format!("{}: non-standard IP address \"{value}\" is invalid: use \"{plain}\"", at.text()))
}
