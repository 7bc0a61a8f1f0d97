//! Names and addresses of the internet.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

use crate::gotext::url::Url;

/// Host names (`strfmt.HostnamePattern`). A name of one label may have a dash in its second place only; the last of
/// several labels is made of letters.
static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const SIGN: &str = r"0-9A-Za-z\p{S}\p{L}";
    let single = format!("[{SIGN}](?:-?[{SIGN}]{{0,62}})?");
    let label = format!(r"[{SIGN}](?:[{SIGN}-]{{0,61}}[{SIGN}])?\.");
    Regex::new(&format!(r"^(?:{single}|(?:{label})+[a-zA-Z\p{{L}}]{{2,63}})$")).ok()
});

/// What Go's `url.ParseRequestURI` takes: an absolute URI, or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    Url::parse(text).is_ok()
}

pub(super) fn is_hostname(text: &str) -> bool {
    HOSTNAME.as_ref().is_some_and(|pattern| pattern.is_match(text))
        && text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
}

/// Four numbers up to 255, with leading zeros or without (`netutils.ParseIPSloppy`).
fn is_dotted(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let small = |digits: &&str| {
        !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && matches!(digits.trim_start_matches('0'), digits if digits.is_empty() || digits.parse::<u8>().is_ok())
    };
    numbers.len() == 4 && numbers.iter().all(small)
}

/// An address with colons, whose end may be in the form of the older protocol.
fn is_colons(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_dotted(tail) && format!("{head}:0.0.0.0").parse::<Ipv6Addr>().is_ok()
        }
        Some(_) => text.parse::<Ipv6Addr>().is_ok(),
        None => false,
    }
}

/// Any address in whose text a dot stands, which one of the newer protocol may be.
pub(super) fn is_ipv4(text: &str) -> bool {
    is_dotted(text) || text.contains('.') && is_colons(text)
}

/// An address with colons (`net.ParseIP`, which takes no leading zeros in numbers with dots).
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

/// Six, eight or twenty bytes, in pairs of digits between colons or dashes, or in fours between dots (`net.ParseMAC`).
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

/// The name of most objects' parts: a label of RFC 1123 in small letters.
pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

/// The name of most objects: labels, each as long as may be, between dots.
pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().next().is_some_and(sign)
        && text.bytes().next_back().is_some_and(sign)
        && text.bytes().all(|b| sign(b) || b == b'-')
}
