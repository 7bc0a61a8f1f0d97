//! The formats that schemas may name (`supportedVersionedFormats` of the validation of custom resources).
//! Unknown formats accept every value.

mod code;
mod internet;
mod mail;
mod time;

/// A known format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
    Int32,
    Int64,
    Float,
    Double,
}

/// Formats by name without dashes, which are ignored.
const NAMES: [(&str, Format); 30] = [
    ("bsonobjectid", Format::BsonObjectId),
    ("uri", Format::Uri),
    ("email", Format::Email),
    ("hostname", Format::Hostname),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("cidr", Format::Cidr),
    ("mac", Format::Mac),
    ("uuid", Format::Uuid),
    ("uuid3", Format::Uuid3),
    ("uuid4", Format::Uuid4),
    ("uuid5", Format::Uuid5),
    ("isbn", Format::Isbn),
    ("isbn10", Format::Isbn10),
    ("isbn13", Format::Isbn13),
    ("creditcard", Format::CreditCard),
    ("ssn", Format::Ssn),
    ("hexcolor", Format::HexColor),
    ("rgbcolor", Format::RgbColor),
    ("byte", Format::Byte),
    ("password", Format::Password),
    ("date", Format::Date),
    ("duration", Format::Duration),
    ("datetime", Format::DateTime),
    ("k8sshortname", Format::ShortName),
    ("k8slongname", Format::LongName),
    ("int32", Format::Int32),
    ("int64", Format::Int64),
    ("float", Format::Float),
    ("double", Format::Double),
];

/// The first minor that enforces the formats of Kubernetes names. They came with 1.34, and a server enforces
/// only what the previous minor knew as well (`DefaultCompatibilityVersion`).
const KUBERNETES_NAMES: u32 = 35;
/// The first minor that enforces the formats of numbers; before, they counted as unknown.
const NUMBERS: u32 = 36;

/// A format with its name in the schema: dashes may be anywhere, and errors repeat them.
#[derive(Debug, Clone)]
pub(crate) struct NamedFormat {
    pub(crate) format: Format,
    pub(crate) name: String,
}

impl NamedFormat {
    /// Finds the format of a name that any minor knows.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let plain = name.replace('-', "");
        let format = NAMES.iter().find(|(known, _)| *known == plain).map(|(_, format)| *format)?;
        Some(Self { format, name: name.to_owned() })
    }
}

impl Format {
    /// Whether a minor enforces this format.
    pub(crate) fn is_enforced_by(self, minor: u32) -> bool {
        match self {
            Self::ShortName | Self::LongName => minor >= KUBERNETES_NAMES,
            Self::Int32 | Self::Int64 | Self::Float | Self::Double => minor >= NUMBERS,
            _ => true,
        }
    }

    /// For a format of numbers, the only type to which it applies.
    pub(crate) fn number_type(self) -> Option<&'static str> {
        match self {
            Self::Int32 | Self::Int64 => Some("integer"),
            Self::Float | Self::Double => Some("number"),
            _ => None,
        }
    }

    /// Whether a string has this format (`strfmt.Default`).
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::DateTime => time::is_date_time(text),
            Self::Date => time::is_date(text),
            Self::Duration => time::is_duration(text),
            Self::Ipv4 => internet::is_ipv4(text),
            Self::Ipv6 => internet::is_ipv6(text),
            Self::Cidr => internet::is_cidr(text),
            Self::Uri => internet::is_uri(text),
            Self::Hostname => internet::is_hostname(text),
            Self::Mac => internet::is_mac(text),
            Self::ShortName => internet::is_short_name(text),
            Self::LongName => internet::is_long_name(text),
            Self::Email => mail::is_address(text),
            Self::Byte => code::is_base64(text),
            Self::Uuid | Self::Uuid3 | Self::Uuid4 | Self::Uuid5 => code::is_uuid(text, self),
            Self::Isbn => code::is_isbn10(text) || code::is_isbn13(text),
            Self::Isbn10 => code::is_isbn10(text),
            Self::Isbn13 => code::is_isbn13(text),
            Self::CreditCard => code::is_credit_card(text),
            Self::Ssn => code::is_social_security(text),
            Self::HexColor => code::is_hex_color(text),
            Self::RgbColor => code::is_rgb_color(text),
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::Password | Self::Int32 | Self::Int64 | Self::Float | Self::Double => true,
        }
    }
}

#[cfg(test)]
mod tests;
