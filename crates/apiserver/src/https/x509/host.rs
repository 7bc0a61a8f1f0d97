//! The check that a certificate is for a host (`Certificate.VerifyHostname`).

use std::net::IpAddr;

use super::Certificate;

/// The number of names from which on a message has their number instead.
const MANY: usize = 100;

/// Checks that a certificate is for a host name or an address.
///
/// # Errors
/// Go's message.
pub(super) fn check(certificate: &Certificate, host: &str) -> Result<(), String> {
    let extensions = &certificate.extensions;
    let address: Option<IpAddr> = host.parse().ok();
    let name = host.to_ascii_lowercase();
    let matches = match address {
        Some(address) => {
            extensions.addresses.iter().any(|known| known.to_canonical() == address.to_canonical())
        }
        None => extensions.dns_names.iter().any(|pattern| matches_name(pattern, &name)),
    };
    if matches {
        return Ok(());
    }
    if !extensions.has_names && matches_parts(&certificate.common_name, host) {
        return Err("x509: certificate relies on legacy Common Name field, use SANs instead".to_owned());
    }
    let (names, kind): (Vec<String>, _) = match address {
        Some(_) if extensions.addresses.is_empty() => {
            let why = "because it doesn't contain any IP SANs";
            return Err(format!("x509: cannot validate certificate for {host} {why}"));
        }
        Some(_) => (extensions.addresses.iter().map(ToString::to_string).collect(), "IP SANs"),
        None => (extensions.dns_names.clone(), "names"),
    };
    Err(match names.join(", ").as_str() {
        _ if names.len() >= MANY => {
            format!("x509: certificate is valid for {} {kind}, but none matched {host}", names.len())
        }
        "" => format!("x509: certificate is not valid for any names, but wanted to match {host}"),
        names => format!("x509: certificate is valid for {names}, not {host}"),
    })
}

/// Whether a name of a certificate matches a host. Only valid names may have a wildcard.
fn matches_name(pattern: &str, host: &str) -> bool {
    if is_valid(host, false) && !host.contains(':') && is_valid(pattern, true) {
        return matches_parts(pattern, host);
    }
    !matches!(pattern, "" | ".") && host != "." && pattern.eq_ignore_ascii_case(host)
}

/// Compares names by their parts; the first one may be a wildcard.
fn matches_parts(pattern: &str, host: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let (patterns, parts): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), host.strip_suffix('.').unwrap_or(&host).split('.').collect());
    !pattern.is_empty()
        && !host.is_empty()
        && patterns.len() == parts.len()
        && patterns.iter().zip(&parts).enumerate().all(|(at, (a, b))| a == b || at == 0 && *a == "*")
}

fn is_valid(host: &str, is_pattern: bool) -> bool {
    let host = if is_pattern { host } else { host.strip_suffix('.').unwrap_or(host) };
    host != "*"
        && host.split('.').enumerate().all(|(index, part)| {
            let is_known =
                |(at, c): (usize, char)| c.is_ascii_alphanumeric() || c == '-' && at > 0 || c == '_';
            !part.is_empty()
                && (is_pattern && index == 0 && part == "*" || part.chars().enumerate().all(is_known))
        })
}
