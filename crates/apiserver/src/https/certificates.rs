//! Certificates: a certificate authority, and what it signs.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An error while creating or parsing certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A certificate cannot be created.
    #[error("no certificate can be made: {0}")]
    Made(#[from] rcgen::Error),
    /// The given text is not a certificate or key.
    #[error("no certificate and key can be read: {0}")]
    Read(#[from] pem::Error),
}

/// A server certificate with its chain and its key, as PEM.
#[derive(Debug, Clone)]
pub struct ServerCertificate {
    /// The certificate, followed by the certificates of its issuers.
    pub chain_pem: String,
    /// The private key.
    pub key_pem: String,
}

/// A certificate chain, and the key of its first certificate.
type ChainAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl ServerCertificate {
    pub(super) fn read(&self) -> Result<ChainAndKey, CertificateError> {
        Ok((read_all(&self.chain_pem)?, PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes())?))
    }
}

/// Parses all certificates in a text.
pub(super) fn read_all(pem: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    Ok(CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>()?)
}

/// A certificate authority.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A client certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate.
    pub certificate_pem: String,
    /// The private key.
    pub key_pem: String,
}

impl Authority {
    /// Creates an authority with a new key.
    ///
    /// # Errors
    /// The machine has no source of randomness.
    pub fn generate() -> Result<Self, CertificateError> {
        Self::from_key(KeyPair::generate()?)
    }

    /// Restores the authority of a key from [`Authority::key_pem`]. Both accept each other's certificates.
    ///
    /// # Errors
    /// The text is not a key.
    pub fn from_key_pem(pem: &str) -> Result<Self, CertificateError> {
        Self::from_key(KeyPair::from_pem(pem)?)
    }

    fn from_key(key: KeyPair) -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("windtunnel-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self(CertifiedIssuer::self_signed(params, key)?))
    }

    /// The key as PEM.
    pub fn key_pem(&self) -> String {
        self.0.key().serialize_pem()
    }

    /// The CA certificate as PEM, which clients need to trust.
    pub fn certificate_pem(&self) -> String {
        self.0.pem()
    }

    pub(super) fn issuer(&self) -> &CertifiedIssuer<'static, KeyPair> {
        &self.0
    }

    pub(super) fn certificate(&self) -> &CertificateDer<'static> {
        self.0.der()
    }

    /// Creates a server certificate for these names and addresses.
    pub(super) fn server(&self, names: &[String]) -> Result<ChainAndKey, CertificateError> {
        let (certificate, key) = self.server_pair(names)?;
        let chain = vec![certificate.der().clone(), self.certificate().clone()];
        Ok((chain, PrivateKeyDer::Pkcs8(key.serialize_der().into())))
    }

    /// Creates a server certificate for these names and addresses, as PEM.
    ///
    /// # Errors
    /// The machine has no source of randomness.
    pub fn server_certificate(&self, names: &[String]) -> Result<ServerCertificate, CertificateError> {
        let (certificate, key) = self.server_pair(names)?;
        Ok(ServerCertificate {
            chain_pem: certificate.pem() + &self.certificate_pem(),
            key_pem: key.serialize_pem(),
        })
    }

    fn server_pair(&self, names: &[String]) -> Result<(Certificate, KeyPair), CertificateError> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = name("windtunnel", None);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.0)?, key))
    }

    /// Creates a client certificate for a user and, if given, a group (`CN` and `O` of the subject).
    ///
    /// # Errors
    /// The machine has no source of randomness.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<ClientCertificate, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        Ok(ClientCertificate { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

fn name(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_valid_in_clusters_whose_clock_is_behind() {
        let authority = Authority::generate().unwrap();
        let (server, _) = authority.server(&["localhost".to_owned()]).unwrap();
        let client = authority.client("dev", None).unwrap();
        let client = read_all(&client.certificate_pem).unwrap();
        for certificate in server.iter().chain(&client).chain([authority.certificate()]) {
            let has = |text: &str| certificate.windows(text.len()).any(|part| part == text.as_bytes());
            // From 1975 (UTCTime) to 4096 (GeneralizedTime).
            assert!(has("750101000000Z") && has("40960101000000Z"));
        }
    }
}
