//! The identity in an X.509 certificate: the common name of its subject is the user, the organizations are
//! the groups.
//!
//! The certificate was verified before, so only the path to the subject is parsed (RFC 5280, section 4.1).

use windtunnel_core::Identity;

const SEQUENCE: u8 = 0x30;
const OID: u8 = 0x06;
/// `[0]`: the version, which is first if it is present.
const VERSION: u8 = 0xa0;
/// OID 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// OID 2.5.4.10.
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The identity in a DER certificate; `None` if it has no common name or is malformed.
pub(super) fn identity(certificate: &[u8]) -> Option<Identity> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // Skips serial number, signature algorithm, issuer and validity.
    for _ in 0..4 {
        fields = element(fields)?.2;
    }
    let (SEQUENCE, mut names, _) = element(fields)? else { return None };
    let mut identity = Identity::default();
    while !names.is_empty() {
        let (_, mut set, rest) = element(names)?;
        names = rest;
        while !set.is_empty() {
            let (_, pair, rest) = element(set)?;
            set = rest;
            let (OID, kind, value) = element(pair)? else { return None };
            let (_, value, _) = element(value)?;
            let text = String::from_utf8_lossy(value).into_owned();
            match kind {
                COMMON_NAME => identity.user = text,
                ORGANIZATION => identity.groups.push(text),
                _ => {}
            }
        }
    }
    (!identity.user.is_empty()).then_some(identity)
}

/// The tag and content of the first element, and the rest.
fn element(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, input) = input.split_first()?;
    let (length, input) = input.split_first()?;
    let (length, input) = match length {
        0..=0x7f => (usize::from(*length), input),
        0x81..=0x84 => {
            let (digits, rest) = input.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = input.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::super::Authority;
    use super::*;
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;

    fn certificate(user: &str, group: Option<&str>) -> Vec<u8> {
        let certificate = Authority::generate().unwrap().client(user, group).unwrap();
        CertificateDer::from_pem_slice(certificate.certificate_pem.as_bytes()).unwrap().to_vec()
    }

    #[test]
    fn the_common_name_is_the_user_and_the_organization_a_group() {
        let jane = identity(&certificate("jane", Some("devs"))).unwrap();
        assert_eq!((jane.user.as_str(), jane.groups), ("jane", vec!["devs".to_owned()]));
        let long = "system:node:".repeat(40);
        let node = identity(&certificate(&long, None)).unwrap();
        assert_eq!((node.user, node.groups.len()), (long, 0));
    }

    #[test]
    fn certificates_without_a_name_or_truncated_have_no_identity() {
        assert_eq!(identity(&certificate("", Some("devs"))), None);
        let whole = certificate("jane", Some("devs"));
        for end in 0..whole.len() {
            assert_eq!(identity(&whole[..end]), None, "{end}");
        }
    }
}
