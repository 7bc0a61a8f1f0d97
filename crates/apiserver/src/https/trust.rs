//! The trust in the certificate of a webhook: the CA bundle of its configuration.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

/// Builds a TLS configuration that trusts the certificates of a bundle: PEM in base64, as in webhook configurations.
///
/// # Errors
/// The bundle is not base64, or one of its certificates cannot be read.
pub(super) fn in_bundle(bundle: &str) -> Result<ClientConfig, String> {
    let pem = STANDARD.decode(bundle).map_err(|error| format!("caBundle: {error}"))?;
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem).flatten().collect();
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    if roots.is_empty() {
        return Ok(config.with_root_certificates(roots).with_no_client_auth());
    }
    let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = Bundle { certificates, chains: chains.map_err(|error| error.to_string())? };
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// Accepts certificates that one of the bundle has signed, and those of the bundle themselves.
///
/// `openssl req -x509` makes the certificate of a server an authority as well. Go accepts it if the client names it
/// (`Certificate.Verify` of crypto/x509), whereas webpki expects no authority there.
#[derive(Debug)]
struct Bundle {
    certificates: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Bundle {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.chains.verify_server_cert(leaf, others, name, ocsp, now) {
            // The dates are checked before.
            Err(error) if is_authority(&error) && self.certificates.contains(leaf) => {
                verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Returns whether a certificate was rejected only because it is an authority.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) = error else { return false };
    matches!(inner.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}
