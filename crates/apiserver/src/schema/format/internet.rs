//! Formats of internet names and addresses.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

use crate::gotext::url::Url;

/// Host names (`strfmt.HostnamePattern`). A name of one label allows a dash only as its second character. The
/// last of several labels consists of letters.
static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const SIGN: &str = r"0-9A-Za-z\p{S}\p{L}";
    let single = format!("[{SIGN}](?:-?[{SIGN}]{{0,62}})?");
    let label = format!(r"[{SIGN}](?:[{SIGN}-]{{0,61}}[{SIGN}])?\.");
    Regex::new(&format!(r"^(?:{single}|(?:{label})+[a-zA-Z\p{{L}}]{{2,63}})$")).ok()
});

/// Whether Go's `url.ParseRequestURI` accepts a text: an absolute URI or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    Url::parse(text).is_ok()
}

pub(super) fn is_hostname(text: &str) -> bool {
    HOSTNAME.as_ref().is_some_and(|pattern| pattern.is_match(text))
        && text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
}

/// Whether a text is four numbers up to 255, with or without leading zeros (`netutils.ParseIPSloppy`).
fn is_dotted(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let small = |digits: &&str| {
        !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && matches!(digits.trim_start_matches('0'), digits if digits.is_empty() || digits.parse::<u8>().is_ok())
    };
    numbers.len() == 4 && numbers.iter().all(small)
}

/// Whether a text is an IPv6 address, which may end in the dotted form of IPv4.
fn is_colons(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_dotted(tail) && format!("{head}:0.0.0.0").parse::<Ipv6Addr>().is_ok()
        }
        Some(_) => text.parse::<Ipv6Addr>().is_ok(),
        None => false,
    }
}

/// Whether a text is an address with a dot, which also accepts an IPv6 address that ends in the form of IPv4.
pub(super) fn is_ipv4(text: &str) -> bool {
    is_dotted(text) || text.contains('.') && is_colons(text)
}

/// Whether a text is an IPv6 address (`net.ParseIP`, which rejects leading zeros in dotted numbers).
pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = if is_dotted(address) {
        32
    } else if is_colons(address) {
        128
    } else {
        return false;
    };
    bits.bytes().all(|b| b.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// Whether a text is 6, 8 or 20 bytes: pairs of digits separated by colons or dashes, or groups of four
/// separated by dots (`net.ParseMAC`).
pub(super) fn is_mac(text: &str) -> bool {
    let (separator, digits) = match (text.as_bytes().get(2), text.as_bytes().get(4)) {
        (Some(b':'), _) => (':', 2),
        (Some(b'-'), _) => ('-', 2),
        (_, Some(b'.')) => ('.', 4),
        _ => return false,
    };
    let parts: Vec<&str> = text.split(separator).collect();
    matches!(parts.len() * digits / 2, 6 | 8 | 20)
        && parts.iter().all(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a text is a lower-case label of RFC 1123.
pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

/// Whether a text is a DNS subdomain: lower-case labels separated by dots. Labels have no limit of their own.
pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().next().is_some_and(sign)
        && text.bytes().next_back().is_some_and(sign)
        && text.bytes().all(|b| sign(b) || b == b'-')
}
