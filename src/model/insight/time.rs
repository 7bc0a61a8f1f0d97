//! Times of the API (`metav1.Time`) in serde: RFC 3339 text in UTC and whole seconds; the zero time is `null`.

use serde::{Deserializer, Serializer};

use crate::base::clock::{Time, parse_rfc3339, rfc3339};

fn read<E: serde::de::Error>(text: &str) -> Result<Time, E> {
    parse_rfc3339(text).ok_or_else(|| E::custom(format_args!("not an RFC 3339 time: {text:?}")))
}

/// A time that must be there.
pub(super) mod required {
    use super::{Deserializer, Serializer, Time, read, rfc3339};
    use serde::Deserialize as _;

    pub(crate) fn serialize<S: Serializer>(at: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(*at))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        read(&String::deserialize(deserializer)?)
    }
}

/// A time that may be `null`, which is the zero time.
pub(super) mod optional {
    use super::{Deserializer, Serializer, Time, read, rfc3339};
    use serde::Deserialize as _;

    #[expect(clippy::ref_option, reason = "the signature that serde's `with` calls")]
    pub(crate) fn serialize<S: Serializer>(at: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&rfc3339(*at)),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
        Option::<String>::deserialize(deserializer)?.as_deref().map(read).transpose()
    }
}
