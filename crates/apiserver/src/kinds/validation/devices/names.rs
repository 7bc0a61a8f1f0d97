//! Names of drivers, pools, devices, attributes and shares.

use crate::kinds::validation::{Errors, Path};
use crate::names;

/// Maximum length of the name of a pool.
const LONGEST_POOL: usize = 253;
/// Maximum lengths of the two parts of an attribute's name.
pub(super) const LONGEST_DOMAIN: usize = 63;
pub(super) const LONGEST_ID: usize = 32;
/// Maximum length of an attribute's name.
pub(super) const LONGEST_NAME: usize = LONGEST_DOMAIN + 1 + LONGEST_ID;
const IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of \
    alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
    '[A-Za-z_][A-Za-z0-9_]*')";
const UID: &str = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase \
    hexadecimal characters";

pub(super) use crate::kinds::validation::storage::driver_name as driver;

/// Requires a DNS label (`ValidateDNS1123Label`).
pub(super) fn label(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.each(at, name, names::label(name));
}

/// Requires the name of a class (`validateDeviceClass`).
pub(super) fn class(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name.is_empty() {
        errors.required(at, "");
    } else {
        errors.each(at, name, names::subdomain(name));
    }
}

/// Requires the name of a pool, whose parts are DNS subdomains (`validatePoolName`).
pub(super) fn pool(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    if name.len() > LONGEST_POOL {
        errors.too_long(at, LONGEST_POOL as u64);
    }
    for part in name.split('/') {
        errors.each(at, part, names::subdomain(part));
    }
}

/// Requires the name of an attribute, with or without a domain. Like a real server, this accepts any name with several
/// slashes (`validateQualifiedName`).
pub(super) fn qualified(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [id] => identifier(id, at, errors),
        [domain, id] => {
            if domain.is_empty() {
                errors.invalid(at, "", "the domain must not be empty");
            } else {
                driver(domain, at, errors);
            }
            if id.is_empty() {
                errors.invalid(at, "", "the name must not be empty");
            } else {
                identifier(id, at, errors);
            }
        }
        _ => {}
    }
}

/// Requires the name of an attribute with its domain (`validateFullyQualifiedName`).
pub(super) fn fully_qualified(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    qualified(name, at, errors);
    if !name.contains('/') {
        let why = "a fully qualified name must be a domain and a name separated by a slash";
        errors.invalid(at, name, why);
    }
}

fn identifier(id: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if id.len() > LONGEST_ID {
        errors.too_long(at, LONGEST_ID as u64);
    }
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let starts = id.bytes().next().is_some_and(|b| is_part(b) && !b.is_ascii_digit());
    if !starts || !id.bytes().all(is_part) {
        errors.invalid(at, id, IDENTIFIER);
    }
}

/// Requires a UUID in its usual form (`validateUID`).
pub(super) fn uid(uid: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Err(why) = parse_uuid(uid) {
        errors.invalid(at, uid, format!("error validating uid: {why}"));
    } else if uid.len() != 36 || uid != uid.to_lowercase() {
        errors.invalid(at, uid, UID);
    }
}

/// Checks the forms of a UUID that Google's library reads (`uuid.Validate`).
fn parse_uuid(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let wrong = || Err("invalid UUID format".to_owned());
    let hyphenated = match bytes.len() {
        36 => bytes,
        45 if bytes[..9].eq_ignore_ascii_case(b"urn:uuid:") => &bytes[9..],
        45 => {
            let prefix = String::from_utf8_lossy(&bytes[..9]);
            return Err(format!("invalid urn prefix: {}", crate::gotext::quote(&prefix)));
        }
        38 if bytes[0] == b'{' && bytes[37] == b'}' => &bytes[1..37],
        38 => return Err("invalid bracketed UUID format".to_owned()),
        32 if bytes.iter().all(u8::is_ascii_hexdigit) => return Ok(()),
        32 => return wrong(),
        length => return Err(format!("invalid UUID length: {length}")),
    };
    let fits = |(index, b): (usize, &u8)| match index {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => b.is_ascii_hexdigit(),
    };
    if hyphenated.iter().enumerate().all(fits) { Ok(()) } else { wrong() }
}
