//! The identity in an X.509 certificate: the common name of its subject is the user, the organizations are
//! the groups.
//!
//! The certificate was verified before, so only the path to the subject is parsed (RFC 5280, section 4.1).

use windtunnel_core::Identity;

use super::x509::der::{OID, Reader, SEQUENCE};

/// `[0]`: the version, which is first if it is present.
const VERSION: u8 = 0xa0;
/// OID 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// OID 2.5.4.10.
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The identity in a DER certificate; `None` if it has no common name or is malformed.
pub(super) fn identity(certificate: &[u8]) -> Option<Identity> {
    let mut fields = Reader(certificate).enter()?.enter()?;
    fields.next_if(VERSION);
    // Skips serial number, signature algorithm, issuer and validity.
    for _ in 0..4 {
        fields.next()?;
    }
    let subject = fields.next_if(SEQUENCE)?;
    let (user, groups) = names(subject.content)?;
    (!user.is_empty()).then(|| Identity { user, groups, ..Identity::default() })
}

/// The common name and the organizations of a subject; `None` if it is malformed.
pub(super) fn names(subject: &[u8]) -> Option<(String, Vec<String>)> {
    let (mut common_name, mut organizations) = (String::new(), Vec::new());
    let mut names = Reader(subject);
    while !names.is_at_end() {
        let mut set = names.enter()?;
        while !set.is_at_end() {
            let mut pair = set.enter()?;
            let kind = pair.next_if(OID)?.content;
            let text = String::from_utf8_lossy(pair.next()?.content).into_owned();
            match kind {
                COMMON_NAME => common_name = text,
                ORGANIZATION => organizations.push(text),
                _ => {}
            }
        }
    }
    Some((common_name, organizations))
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
