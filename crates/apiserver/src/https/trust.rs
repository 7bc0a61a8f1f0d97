//! The trust in the certificate of a webhook: the CA bundle of its configuration, or without one the authorities of the
//! system.

use std::fs;
use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, SignatureScheme,
};

use super::x509::{self, Certificate};

/// The files of the system's authorities. The first one that exists counts.
const SYSTEM: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The authorities of the system, read once.
static SYSTEM_ROOTS: LazyLock<Arc<[Certificate]>> = LazyLock::new(|| {
    let pem = SYSTEM.iter().find_map(|path| fs::read(path).ok()).unwrap_or_default();
    certificates(&pem).into()
});

/// Builds a TLS configuration that trusts the certificates of a bundle: PEM in base64, as in webhook configurations.
///
/// # Errors
/// TLS cannot be set up.
pub(super) fn client(bundle: &str) -> Result<ClientConfig, String> {
    let roots = match bundle {
        "" => Arc::clone(&SYSTEM_ROOTS),
        bundle => certificates(&STANDARD.decode(bundle).unwrap_or_default()).into(),
    };
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier { roots, provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The readable certificates in a PEM text.
fn certificates(pem: &[u8]) -> Vec<Certificate> {
    let certificates = CertificateDer::pem_slice_iter(pem).flatten();
    certificates.filter_map(|certificate| Certificate::parse(&certificate)).collect()
}

/// The reason why a certificate is not trusted.
#[derive(Debug, thiserror::Error)]
#[error("tls: failed to verify certificate: {0}")]
pub(super) struct Untrusted(String);

/// Verifies certificates as Go does it. It accepts certificates that webpki rejects: one that is in the bundle itself,
/// whether it is an authority or not.
#[derive(Debug)]
struct Verifier {
    roots: Arc<[Certificate]>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = [leaf].into_iter().chain(others).map(|certificate| Certificate::parse(certificate));
        let chain: Option<Vec<Certificate>> = chain.collect();
        let chain = chain.ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let now = i64::try_from(now.as_secs()).ok().and_then(|now| Timestamp::from_second(now).ok());
        let algorithms = &self.provider.signature_verification_algorithms;
        x509::verify(&chain, &self.roots, &name.to_str(), now.unwrap_or_default(), algorithms)
            .map(|()| ServerCertVerified::assertion())
            .map_err(|why| {
                let why = OtherError(Arc::new(Untrusted(why)));
                Error::InvalidCertificate(CertificateError::Other(why))
            })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, leaf, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, leaf, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
