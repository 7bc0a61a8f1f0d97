//! X.509 certificates of webhooks, parsed and verified as Go does it (`crypto/x509`), with Go's messages.

mod chain;
mod host;
mod signature;

use std::net::IpAddr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::der::{BOOLEAN, INTEGER, Name, Reader, SEQUENCE, UTC_TIME, name};

pub(super) use chain::verify;

/// The tags of optional fields of a certificate: the version, unique ids, and the extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
/// The tags of names: DNS names and addresses.
const DNS_NAME: u8 = 0x82;
const ADDRESS: u8 = 0x87;
/// The tag of the identifier in an authority key identifier.
const KEY_ID: u8 = 0x80;
/// The number of the bit for signing certificates in a key usage.
const KEY_CERT_SIGN: u8 = 5;

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    der: Vec<u8>,
    /// The part that the issuer signed.
    signed: Vec<u8>,
    /// The algorithm of the signature, without the tag around it.
    signature_algorithm: Vec<u8>,
    signature: Vec<u8>,
    version: u8,
    serial_number: Vec<u8>,
    issuer: Vec<u8>,
    subject: Vec<u8>,
    common_name: String,
    organizations: Vec<String>,
    not_before: Timestamp,
    not_after: Timestamp,
    /// The algorithm of the public key, without the tag around it.
    key_algorithm: Vec<u8>,
    key: Vec<u8>,
    extensions: Extensions,
}

/// The extensions of a certificate that matter for its verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Extensions {
    /// Whether there are basic constraints, and whether they make it an authority.
    is_authority: Option<bool>,
    /// The number of intermediate certificates that may follow.
    max_path: Option<usize>,
    /// Whether the key may sign certificates; `None` without a key usage.
    signs_certificates: Option<bool>,
    /// The OIDs of extended key usages.
    usages: Vec<Vec<u8>>,
    /// Whether there are alternative names.
    has_names: bool,
    dns_names: Vec<String>,
    addresses: Vec<IpAddr>,
    subject_key_id: Vec<u8>,
    authority_key_id: Vec<u8>,
    /// Whether there is a critical extension that Go does not know.
    has_unknown_critical: bool,
}

impl Certificate {
    /// Parses a certificate; `None` if it is malformed.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        let mut outer = Reader(der).enter()?;
        let signed = outer.next_if(SEQUENCE)?;
        let signature_algorithm = outer.next_if(SEQUENCE)?.content;
        let signature = bits(outer.next()?.content)?;
        let mut fields = Reader(signed.content);
        let version = match fields.next_if(VERSION) {
            Some(version) => *Reader(version.content).next()?.content.last()? + 1,
            None => 1,
        };
        let serial_number = fields.next_if(INTEGER)?.content;
        fields.next_if(SEQUENCE)?;
        let issuer = fields.next_if(SEQUENCE)?;
        let mut validity = fields.enter()?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = fields.next_if(SEQUENCE)?;
        let Name { common_name, organizations } = name(subject.content)?;
        let mut key = fields.enter()?;
        let key_algorithm = key.next_if(SEQUENCE)?.content;
        let key = bits(key.next()?.content)?;
        Some(Self {
            der: der.to_vec(),
            signed: signed.whole.to_vec(),
            signature_algorithm: signature_algorithm.to_vec(),
            signature: signature.to_vec(),
            version,
            serial_number: serial_number.to_vec(),
            issuer: issuer.whole.to_vec(),
            subject: subject.whole.to_vec(),
            common_name,
            organizations,
            not_before,
            not_after,
            key_algorithm: key_algorithm.to_vec(),
            key: key.to_vec(),
            extensions: Extensions::read(fields)?,
        })
    }

    /// The name of an authority in messages.
    fn display_name(&self) -> String {
        match (self.common_name.as_str(), self.organizations.first()) {
            ("", Some(organization)) => organization.clone(),
            ("", None) => format!("serial:{}", decimal(&self.serial_number)),
            (name, _) => name.to_owned(),
        }
    }
}

impl Extensions {
    /// Reads the extensions among the last fields of a certificate.
    fn read(mut fields: Reader<'_>) -> Option<Self> {
        let mut extensions = Self::default();
        while !fields.is_at_end() {
            let field = fields.next()?;
            if field.tag != EXTENSIONS {
                continue;
            }
            let mut list = Reader(field.content).enter()?;
            while !list.is_at_end() {
                let mut extension = list.enter()?;
                let oid = extension.next()?.content;
                let critical = extension.next_if(BOOLEAN).is_some_and(|flag| flag.content != [0]);
                extensions.add(oid, critical, Reader(extension.next()?.content))?;
            }
        }
        Some(extensions)
    }

    fn add(&mut self, oid: &[u8], critical: bool, mut value: Reader<'_>) -> Option<()> {
        // All of them are in the arc 2.5.29.
        match oid {
            [0x55, 0x1d, 14] => self.subject_key_id = value.next()?.content.to_vec(),
            [0x55, 0x1d, 15] => self.signs_certificates = Some(has_bit(value.next()?.content, KEY_CERT_SIGN)),
            [0x55, 0x1d, 17] => self.add_names(value.enter()?)?,
            [0x55, 0x1d, 19] => self.add_constraints(value.enter()?)?,
            [0x55, 0x1d, 35] => {
                let id = value.enter()?.next_if(KEY_ID);
                self.authority_key_id = id.map(|id| id.content.to_vec()).unwrap_or_default();
            }
            [0x55, 0x1d, 37] => {
                let mut usages = value.enter()?;
                while !usages.is_at_end() {
                    self.usages.push(usages.next()?.content.to_vec());
                }
            }
            // Name constraints and policies, which Go knows.
            [0x55, 0x1d, 30 | 31 | 32 | 33 | 36 | 54] => {}
            _ => self.has_unknown_critical |= critical,
        }
        Some(())
    }

    fn add_names(&mut self, mut names: Reader<'_>) -> Option<()> {
        self.has_names = true;
        while !names.is_at_end() {
            let name = names.next()?;
            match name.tag {
                DNS_NAME => self.dns_names.push(String::from_utf8_lossy(name.content).into_owned()),
                ADDRESS => self.addresses.push(address(name.content)?),
                _ => {}
            }
        }
        Some(())
    }

    fn add_constraints(&mut self, mut constraints: Reader<'_>) -> Option<()> {
        let is_authority = constraints.next_if(BOOLEAN).is_some_and(|flag| flag.content != [0]);
        self.is_authority = Some(is_authority);
        if let Some(length) = constraints.next_if(INTEGER) {
            self.max_path = Some(usize::from(*length.content.last()?));
        }
        Some(())
    }
}

/// The bytes of a bit string whose last byte is complete.
fn bits(content: &[u8]) -> Option<&[u8]> {
    content.split_first().filter(|(unused, _)| **unused == 0).map(|(_, bytes)| bytes)
}

/// Whether a bit of a bit string is set.
fn has_bit(content: &[u8], number: u8) -> bool {
    content.get(1 + usize::from(number / 8)).is_some_and(|byte| byte & (0x80 >> (number % 8)) != 0)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Reads a time: years have two digits, or four.
fn time(reader: &mut Reader<'_>) -> Option<Timestamp> {
    let element = reader.next()?;
    let mut digits = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    let mut number = |length: usize| {
        let (first, rest) = digits.split_at_checked(length)?;
        digits = rest;
        first.parse::<i16>().ok()
    };
    let year = match element.tag {
        UTC_TIME => number(2).map(|year| if year < 50 { year + 2000 } else { year + 1900 }),
        _ => number(4),
    };
    let mut small = || number(2).and_then(|number| i8::try_from(number).ok());
    let (month, day, hour, minute, second) = (small()?, small()?, small()?, small()?, small()?);
    let time = DateTime::new(year?, month, day, hour, minute, second, 0).ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

/// A positive number of any size in decimal.
fn decimal(bytes: &[u8]) -> String {
    let mut digits = vec![0_u8];
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) * 256;
            *digit = u8::try_from(carry % 10).unwrap_or_default();
            carry /= 10;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 10).unwrap_or_default());
            carry /= 10;
        }
    }
    digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_are_decimal() {
        for (bytes, text) in
            [(&[][..], "0"), (&[1, 0], "256"), (&[0, 255, 255, 255, 255, 255], "1099511627775")]
        {
            assert_eq!(decimal(bytes), text);
        }
    }

    #[test]
    fn truncated_certificates_are_malformed() {
        let authority = crate::https::Authority::generate().unwrap();
        let whole = authority.certificate();
        assert!(
            Certificate::parse(whole).is_some_and(|certificate| certificate.common_name == "windtunnel-ca")
        );
        for end in 0..whole.len() {
            assert!(Certificate::parse(&whole[..end]).is_none(), "{end}");
        }
    }
}
