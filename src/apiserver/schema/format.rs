//! String formats that schemas may name; unknown ones say nothing.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A format that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    DateTime,
    Date,
    Duration,
    Ipv4,
    Ipv6,
    Cidr,
    Byte,
    Uuid,
    Uri,
    Hostname,
    Email,
    Mac,
    Password,
}

const NAMES: [(&str, Format); 17] = [
    ("int32", Format::Int32),
    ("int64", Format::Int64),
    ("float", Format::Float),
    ("double", Format::Double),
    ("date-time", Format::DateTime),
    ("date", Format::Date),
    ("duration", Format::Duration),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("cidr", Format::Cidr),
    ("byte", Format::Byte),
    ("uuid", Format::Uuid),
    ("uri", Format::Uri),
    ("hostname", Format::Hostname),
    ("email", Format::Email),
    ("mac", Format::Mac),
    ("password", Format::Password),
];

impl Format {
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether a string has this format; numeric formats say nothing about strings.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::DateTime => is_date_time(text),
            Self::Date => is_date(text),
            Self::Duration => is_duration(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Cidr => is_cidr(text),
            Self::Byte => is_base64(text),
            Self::Uuid => is_uuid(text),
            Self::Uri => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
            Self::Hostname => is_hostname(text),
            Self::Email => {
                text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
            }
            Self::Mac => is_mac(text),
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password => true,
        }
    }
}

fn is_date_time(text: &str) -> bool {
    let upper = text.len() > 10 && matches!(text.as_bytes().get(10), Some(b'T' | b't'));
    upper && text.parse::<jiff::Timestamp>().is_ok()
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// A Go duration, or a number with a unit in words as the strfmt library takes it.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 22] = [
        "ns", "us", "µs", "μs", "ms", "s", "m", "h", "nano", "micro", "milli", "sec", "secs", "second",
        "seconds", "min", "minute", "minutes", "hour", "hours", "day", "days",
    ];
    let mut rest = text.trim_start_matches(['-', '+']);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (unit, after) = tail.split_at(letters);
        let known = UNITS.contains(&unit) || matches!(unit, "d" | "w" | "week" | "weeks" | "hr" | "hrs");
        if number.parse::<f64>().is_err() || !known {
            return false;
        }
        parts += 1;
        rest = after.trim_start();
    }
    parts > 0
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let letters = body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
    letters && text.len().is_multiple_of(4) && text.len() - body.len() <= 2
}

fn is_uuid(text: &str) -> bool {
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit()) && matches!(text.len(), 32 | 36)
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.len() <= 255 && text.trim_end_matches('.').split('.').all(label)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8)
        && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_good_from_bad() {
        for (name, good, bad) in [
            ("date-time", "2024-01-02T03:04:05.123+02:00", "2024-01-02"),
            ("duration", "1h30m", "bad"),
            ("ipv4", "1.2.3.4", "1.2.3.256"),
            ("ipv6", "::1", "1.2.3.4"),
            ("cidr", "10.0.0.0/8", "10.0.0.1/33"),
            ("byte", "aGVsbG8=", "aGVsbG8"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ] {
            let format = Format::named(name).unwrap();
            assert!(format.accepts(good), "{name} {good}");
            assert!(!format.accepts(bad), "{name} {bad}");
        }
        assert_eq!(Format::named("nonsense"), None);
    }
}
