//! Validation of addresses and CIDR ranges (`k8s.io/apimachinery/pkg/util/validation/ip.go`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::gotext;
use crate::kinds::validation::{Errors, Path};
use crate::profile::since;

const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Parses an address. Octets of IPv4 may have leading zeros, and IPv4 addresses may be mapped to IPv6
/// (`ParseIPSloppy`).
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(|address| IpAddr::V6(address).to_canonical());
    }
    Some(IpAddr::V4(parse_v4(text)?))
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = decimal(parts.next()?, 255).and_then(|number| u8::try_from(number).ok())?;
    }
    parts.next().is_none().then(|| octets.into())
}

/// Parses digits, with or without leading zeros.
fn decimal(digits: &str, most: u32) -> Option<u32> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match digits.trim_start_matches('0') {
        "" => Some(0),
        digits => digits.parse().ok().filter(|number| *number <= most),
    }
}

/// Whether a text is an IPv6 address that is not a mapped IPv4 address (`IsIPv6String`).
pub(crate) fn is_v6(text: &str) -> bool {
    parse(text).is_some_and(|address| address.is_ipv6())
}

/// The errors of an address, stricter since `since::STRICT_ADDRESSES` (`IsValidIPForLegacyField`).
pub(in crate::kinds::validation) fn check(text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    check_form(text, errors.profile.minor >= since::STRICT_ADDRESSES, at, errors);
}

/// Requires the canonical form of an address (`IsValidIP`).
pub(in crate::kinds::validation) fn check_canonical(text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let before = errors.found.len();
    let Some(address) = check_form(text, true, at, errors) else { return };
    if errors.found.len() == before && address.to_string() != text {
        errors.invalid(at, text, not_canonical(&address.to_string()));
    }
}

fn check_form(text: &str, strict: bool, at: Path<'_>, errors: &mut Errors<'_>) -> Option<IpAddr> {
    let Some(address) = parse(text) else {
        errors.invalid(at, text, NO_ADDRESS);
        return None;
    };
    if strict {
        match text.parse::<IpAddr>() {
            Err(_) => errors.invalid(at, text, "must not have leading 0s"),
            Ok(IpAddr::V6(exact)) if exact.to_ipv4_mapped().is_some() => {
                errors.invalid(at, text, "must not be an IPv4-mapped IPv6 address");
            }
            Ok(_) => {}
        }
    }
    Some(address)
}

fn not_canonical(form: &str) -> String {
    format!("must be in canonical form ({})", gotext::quote(form))
}

/// Rejects addresses that cannot be the address of an endpoint (`ValidateEndpointIP`).
pub(in crate::kinds::validation) fn check_endpoint(text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(address) = parse(text) else {
        errors.invalid(at, text, "must be a valid IP address");
        return;
    };
    let (local, multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.segments()[0] & 0xffc0 == 0xfe80, v6.segments()[0] & 0xff0f == 0xff02),
    };
    if address.is_unspecified() {
        errors.invalid(at, text, format!("may not be unspecified ({text})"));
    }
    let ranges = [
        (address.is_loopback(), "loopback range (127.0.0.0/8, ::1/128)"),
        (local, "link-local range (169.254.0.0/16, fe80::/10)"),
        (multicast, "link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ];
    for (_, range) in ranges.into_iter().filter(|(is_in, _)| *is_in) {
        errors.invalid(at, text, format!("may not be in the {range}"));
    }
}

/// The warnings about a valid address that is not in the usual form (`GetWarningsForIP`).
pub(in crate::kinds::validation) fn warn(text: &str, at: Path<'_>, warnings: &mut Vec<String>) {
    let Some(address) = parse(text) else { return };
    let (shown, form) = (gotext::quote(text), gotext::quote(&address.to_string()));
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(exact)) if exact.to_ipv4_mapped().is_none() => {
            if exact.to_string() != text {
                let why = format!("IPv6 address {shown} should be in RFC 5952 canonical format ({form})");
                warnings.push(format!("{}: {why}", at.text()));
            }
        }
        Ok(IpAddr::V4(_)) => {}
        _ => {
            warnings.push(format!("{}: non-standard IP address {shown} is invalid: use {form}", at.text()));
        }
    }
}

/// A range of addresses.
#[derive(Debug, Clone, Copy)]
pub(in crate::kinds::validation) struct Range {
    address: IpAddr,
    length: u32,
    /// Whether the text has leading zeros.
    zeros: bool,
    /// Whether the text has an IPv4 address mapped to IPv6.
    mapped: bool,
}

impl Range {
    /// Parses a range; numbers may have leading zeros (`ParseCIDRSloppy`).
    pub(in crate::kinds::validation) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let exact = address.parse::<IpAddr>().ok();
        let found = match exact {
            Some(address) => address,
            None => parse(address)?,
        };
        let length = decimal(prefix, if found.is_ipv4() { 32 } else { 128 })?;
        let zeros = exact.is_none() || (prefix.len() > 1 && prefix.starts_with('0'));
        let mapped = matches!(found, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
        Some(Self { address: found, length, zeros, mapped })
    }

    pub(in crate::kinds::validation) fn is_v6(&self) -> bool {
        self.address.to_canonical().is_ipv6()
    }

    /// The first address of the range.
    fn first(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(v4) => {
                Ipv4Addr::from_bits(v4.to_bits() & u32::MAX.checked_shl(32 - self.length).unwrap_or(0)).into()
            }
            IpAddr::V6(v6) => {
                Ipv6Addr::from_bits(v6.to_bits() & u128::MAX.checked_shl(128 - self.length).unwrap_or(0))
                    .into()
            }
        }
    }

    /// The canonical form of the range.
    fn form(&self) -> String {
        format!("{}/{}", self.first().to_canonical(), self.length)
    }

    /// Whether another range is a part of this one, and not the whole.
    pub(in crate::kinds::validation) fn strictly_contains(&self, part: &Self) -> bool {
        self.address.is_ipv4() == part.address.is_ipv4()
            && self.length < part.length
            && self.first() == Self { length: self.length, ..*part }.first()
    }
}

/// Requires the canonical form of an address with the length of its prefix (`IsValidInterfaceAddress`).
pub(in crate::kinds::validation) fn check_interface(text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(range) = Range::parse(text) else {
        let why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        errors.invalid(at, text, why);
        return;
    };
    let address = range.address.to_canonical();
    let length = if address.is_ipv4() && range.length > 32 { range.length - 96 } else { range.length };
    let form = format!("{address}/{length}");
    if form != text {
        errors.invalid(at, text, not_canonical(&form));
    }
}

/// The errors of a range, stricter since `since::STRICT_ADDRESSES` (`IsValidCIDRForLegacyField`).
pub(in crate::kinds::validation) fn check_range(text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    check_range_form(text, errors.profile.minor >= since::STRICT_ADDRESSES, at, errors);
}

/// Requires the canonical form of a range (`IsValidCIDR`).
pub(in crate::kinds::validation) fn check_canonical_range(text: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let before = errors.found.len();
    let Some(range) = check_range_form(text, true, at, errors) else { return };
    if errors.found.len() == before && range.form() != text {
        errors.invalid(at, text, not_canonical(&range.form()));
    }
}

fn check_range_form(text: &str, strict: bool, at: Path<'_>, errors: &mut Errors<'_>) -> Option<Range> {
    let Some(range) = Range::parse(text) else {
        errors.invalid(at, text, NO_RANGE);
        return None;
    };
    if strict {
        if range.zeros {
            errors.invalid(at, text, "must not have leading 0s in IP or prefix length");
        } else if range.mapped {
            errors.invalid(at, text, "must not have an IPv4-mapped IPv6 address");
        } else if range.first() != range.address {
            errors.invalid(at, text, "must not have bits set beyond the prefix length");
        }
    }
    Some(range)
}

/// The warnings about a valid range that is not in the usual form (`GetWarningsForCIDR`).
pub(in crate::kinds::validation) fn warn_range(text: &str, at: Path<'_>, warnings: &mut Vec<String>) {
    let Some(range) = Range::parse(text) else { return };
    let (shown, form, before) = (gotext::quote(text), gotext::quote(&range.form()), warnings.len());
    if range.first() != range.address {
        let width = if range.address.is_ipv4() { 32 } else { 128 };
        let single = gotext::quote(&format!("{}/{width}", range.address.to_canonical()));
        let why = format!("CIDR value {shown} is ambiguous in this context (should be {form} or {single}?)");
        warnings.push(format!("{}: {why}", at.text()));
    }
    if range.zeros || range.mapped {
        warnings.push(format!("{}: non-standard CIDR value {shown} is invalid: use {form}", at.text()));
    }
    if warnings.len() == before && range.is_v6() && range.form() != text {
        let why = format!("IPv6 CIDR value {shown} should be in RFC 5952 canonical format ({form})");
        warnings.push(format!("{}: {why}", at.text()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn errors(minor: u32, check: impl Fn(&mut Errors<'_>)) -> String {
        let profile = Profile::of(minor, false);
        let mut errors = Errors::new(&profile);
        check(&mut errors);
        errors.found.iter().map(|error| error.detail.clone()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn addresses_are_checked_strictly_from_1_36() {
        for (text, strict, lenient) in [
            ("10.0.0.1", "", ""),
            ("2001:DB8::1", "", ""),
            ("010.0.0.1", "must not have leading 0s", ""),
            ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address", ""),
            ("10.0.0.256", NO_ADDRESS, NO_ADDRESS),
            ("10.0.1", NO_ADDRESS, NO_ADDRESS),
            ("", NO_ADDRESS, NO_ADDRESS),
        ] {
            assert_eq!(errors(36, |errors| check(text, Path::Root, errors)), strict, "{text}");
            assert_eq!(errors(35, |errors| check(text, Path::Root, errors)), lenient, "{text}");
        }
    }

    #[test]
    fn ranges_are_checked_strictly_from_1_36() {
        for (text, strict, lenient) in [
            ("10.0.0.0/8", "", ""),
            ("0.0.0.0/0", "", ""),
            ("10.0.0.1/8", "must not have bits set beyond the prefix length", ""),
            ("10.0.0.0/08", "must not have leading 0s in IP or prefix length", ""),
            ("10.0.0.0/33", NO_RANGE, NO_RANGE),
            ("10.0.0.0", NO_RANGE, NO_RANGE),
            ("fd00::1/64", "must not have bits set beyond the prefix length", ""),
        ] {
            assert_eq!(errors(36, |errors| check_range(text, Path::Root, errors)), strict, "{text}");
            assert_eq!(errors(35, |errors| check_range(text, Path::Root, errors)), lenient, "{text}");
        }
    }

    #[test]
    fn ranges_contain_longer_ranges_of_their_family() {
        let contains = |whole: &str, part: &str| {
            let (whole, part) = (Range::parse(whole).unwrap(), Range::parse(part).unwrap());
            whole.strictly_contains(&part)
        };
        assert!(contains("10.0.0.0/8", "10.1.0.0/16"));
        assert!(!contains("10.0.0.0/8", "10.0.0.0/8"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0/16"));
        assert!(!contains("fd00::/64", "10.0.0.0/8"));
        assert!(!contains("10.0.0.0/8", "fd00::/64"));
    }

    #[test]
    fn endpoints_have_no_special_addresses() {
        for (text, error) in [
            ("10.0.0.1", ""),
            ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
            ("127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
            ("fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
            ("224.0.0.5", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ] {
            assert_eq!(errors(36, |errors| check_endpoint(text, Path::Root, errors)), error);
        }
    }

    #[test]
    fn warns_about_unusual_forms() {
        let mut warnings = Vec::new();
        for text in ["10.0.0.1", "010.0.0.1", "FD00:0::1"] {
            warn(text, Path::Root.child("ip"), &mut warnings);
        }
        for text in ["10.0.0.0/8", "10.0.0.1/8", "FD00::/8"] {
            warn_range(text, Path::Root.child("cidr"), &mut warnings);
        }
        let wanted = [
            r#"ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1""#,
            r#"ip: IPv6 address "FD00:0::1" should be in RFC 5952 canonical format ("fd00::1")"#,
            r#"cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)"#,
            r#"cidr: IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")"#,
        ];
        assert_eq!(warnings, wanted);
    }
}
