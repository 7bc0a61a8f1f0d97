//! Serde helpers for times and durations of the API. A `metav1.Time` is an RFC 3339 text in UTC with whole
//! seconds, and `null` is the zero time; a `metav1.Duration` is a text such as `1h10m0s`.

use serde::{Deserializer, Serializer};
use windtunnel_core::clock::{Time, parse_rfc3339, rfc3339};

fn parse_time<E: serde::de::Error>(text: &str) -> Result<Time, E> {
    parse_rfc3339(text).ok_or_else(|| E::custom(format_args!("not an RFC 3339 time: {text:?}")))
}

/// A required time.
pub(super) mod required {
    use super::{Deserializer, Serializer, Time, parse_time, rfc3339};
    use serde::Deserialize as _;

    pub(crate) fn serialize<S: Serializer>(at: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(*at))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        parse_time(&String::deserialize(deserializer)?)
    }
}

/// A time that may be `null`, the zero time.
pub(super) mod optional {
    use super::{Deserializer, Serializer, Time, parse_time, rfc3339};
    use serde::Deserialize as _;

    #[expect(clippy::ref_option, reason = "the signature that serde's `with` calls")]
    pub(crate) fn serialize<S: Serializer>(at: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&rfc3339(*at)),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
        Option::<String>::deserialize(deserializer)?.as_deref().map(parse_time).transpose()
    }
}

/// An optional duration.
pub(super) mod span {
    use jiff::SignedDuration;
    use serde::Deserialize as _;
    use serde::de::Error as _;
    use windtunnel_core::text::parse_units;

    use super::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the signature that serde's `with` calls")]
    pub(crate) fn serialize<S: Serializer>(
        span: &Option<SignedDuration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => serializer.serialize_some(&format_duration(*span)),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SignedDuration>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let span =
            parse_units(&text).ok_or_else(|| D::Error::custom(format_args!("not a duration: {text:?}")))?;
        Ok(Some(span))
    }

    /// Formats like Go: from the first nonzero unit down to seconds.
    fn format_duration(span: SignedDuration) -> String {
        let (hours, minutes, seconds) = (span.as_hours(), span.as_mins() % 60, span.as_secs() % 60);
        match (hours, minutes) {
            (0, 0) => format!("{seconds}s"),
            (0, _) => format!("{minutes}m{seconds}s"),
            _ => format!("{hours}h{minutes}m{seconds}s"),
        }
    }
}
