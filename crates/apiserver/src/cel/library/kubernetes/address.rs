//! The messages of Go's parser of IP addresses (`netip.ParseAddr`).

use crate::gotext::quote;

/// The reason why an address is invalid, and the part of it that is.
type AddressError<'a> = (&'static str, &'a str);

/// The message about the first mistake of an invalid address.
pub(super) fn error_message(text: &str) -> String {
    let (why, at) = match text.find(['.', ':', '%']).map(|place| &text[place..=place]) {
        Some(".") => ipv4(text),
        Some(":") => ipv6(text),
        Some(_) => ("missing IPv6 address", ""),
        None => ("unable to parse IP", ""),
    };
    let place = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
    format!("ParseAddr({}): {why}{place}", quote(text))
}

fn ipv4(text: &str) -> AddressError<'_> {
    let (mut fields, mut value, mut digits) = (0, 0, 0);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' if digits == 1 && value == 0 => {
                return ("IPv4 field has octet with leading zero", "");
            }
            b'0'..=b'9' => {
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return ("IPv4 field has value >255", "");
                }
            }
            b'.' if digits == 0 || index + 1 == text.len() => {
                return ("IPv4 field must have at least one digit", &text[index..]);
            }
            b'.' if fields == 3 => return ("IPv4 address too long", ""),
            b'.' => (fields, value, digits) = (fields + 1, 0, 0),
            _ => return ("unexpected character", text.get(index..).unwrap_or_default()),
        }
    }
    ("IPv4 address too short", "")
}

fn ipv6(text: &str) -> AddressError<'_> {
    let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    if zone == Some("") {
        return ("zone must be a non-empty string", "");
    }
    let mut rest = address;
    let (mut fields, mut has_gap) = (0, false);
    if let Some(after) = rest.strip_prefix("::") {
        (rest, has_gap) = (after, true);
    }
    while fields < 8 && !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        match field.len() {
            0 => return ("each colon-separated field must have at least one digit", rest),
            1..=4 => {}
            _ => return ("each group must have 4 or less digits", rest),
        }
        if after.starts_with('.') {
            return embedded(rest, fields, has_gap);
        }
        fields += 1;
        let Some(next) = after.strip_prefix(':') else {
            if after.is_empty() {
                rest = after;
                break;
            }
            return ("unexpected character, want colon", after);
        };
        if next.is_empty() {
            return ("colon must be followed by more characters", after);
        }
        rest = next;
        if let Some(next) = rest.strip_prefix(':') {
            if has_gap {
                return ("multiple :: in address", rest);
            }
            (rest, has_gap) = (next, true);
        }
    }
    match (rest.is_empty(), fields < 8) {
        (false, _) => ("trailing garbage after address", rest),
        (true, true) => ("address string too short", ""),
        (true, false) => ("the :: must expand to at least one field of zeros", ""),
    }
}

/// The mistake of an IPv4 address at the end of an IPv6 one.
fn embedded(rest: &str, fields: usize, has_gap: bool) -> AddressError<'_> {
    if !has_gap && fields != 6 {
        return ("embedded IPv4 address must replace the final 2 fields of the address", rest);
    }
    if fields > 6 {
        return ("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
    }
    ipv4(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mistake_is_named() {
        for (text, why) in [
            ("x", "unable to parse IP"),
            ("1.2.3", "IPv4 address too short"),
            ("01.2.3.4", "IPv4 field has octet with leading zero"),
            ("1..2.3", "IPv4 field must have at least one digit (at \".2.3\")"),
            ("1.2.3.4 ", "unexpected character (at \" \")"),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("1:2", "address string too short"),
            ("1:", "colon must be followed by more characters (at \":\")"),
            ("12345::", "each group must have 4 or less digits (at \"12345::\")"),
        ] {
            assert_eq!(error_message(text), format!("ParseAddr({}): {why}", quote(text)));
        }
    }
}
