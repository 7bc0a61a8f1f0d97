//! The identity in an X.509 certificate: the common name of its subject is the user, the organizations are
//! the groups.
//!
//! The certificate was verified before, so only the path to the subject is parsed (RFC 5280, section 4.1).

use windtunnel_core::Identity;

use crate::der::{Reader, SEQUENCE, name};

/// `[0]`: the version, which is first if it is present.
const VERSION: u8 = 0xa0;

/// The identity in a DER certificate; `None` if it has no common name or is malformed.
pub(super) fn identity(certificate: &[u8]) -> Option<Identity> {
    let mut fields = Reader(certificate).enter()?.enter()?;
    fields.next_if(VERSION);
    // Skips serial number, signature algorithm, issuer and validity.
    for _ in 0..4 {
        fields.next()?;
    }
    let subject = name(fields.next_if(SEQUENCE)?.content)?;
    let identity =
        Identity { user: subject.common_name, groups: subject.organizations, ..Identity::default() };
    (!identity.user.is_empty()).then_some(identity)
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
