//! TLS: the server certificate, and client certificates, which are optional.
//!
//! Like in a kube-apiserver, the handshake accepts any client certificate whose key the client has.
//! Authentication checks later whether the authority signed it, and rejects others with 401.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme,
};
use windtunnel_core::Identity;
use windtunnel_core::clock::Time;
use windtunnel_core::text::hex;

use super::{ServeError, ServerCertificate, subject};

/// A random token of 128 bits.
pub fn random_token() -> String {
    let mut bits = [0; 16];
    // Without randomness there is no TLS either, so serving fails with this error.
    let _ = ring::default_provider().secure_random.fill(&mut bits);
    hex(&bits)
}

impl ServerCertificate {
    /// An acceptor of TLS connections with this certificate, for servers besides the API server. It asks clients
    /// for no certificate.
    ///
    /// # Errors
    /// The certificate or the key cannot be read, or they do not belong together.
    pub fn acceptor(&self) -> Result<TlsAcceptor, ServeError> {
        let (chain, key) = self.read()?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// The TLS settings of a listener.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) acceptor: TlsAcceptor,
    clients: Arc<dyn ClientCertVerifier>,
}

impl Tls {
    /// TLS with the server's chain and key, and these client authorities. HTTP/2 is preferred.
    pub(super) fn new(
        (chain, key): (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>),
        client_authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self, ServeError> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for authority in client_authorities {
            roots.add(authority)?;
        }
        let authorities = roots.subjects();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        let anyone = Arc::new(Anyone { provider: Arc::clone(&provider), authorities });
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(anyone)
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), clients })
    }

    /// The identity in a client's certificate chain; an error if no client authority issued it.
    pub(super) fn identify(&self, chain: &[CertificateDer<'_>], now: Time) -> Result<Option<Identity>, ()> {
        let Some((certificate, intermediates)) = chain.split_first() else { return Ok(None) };
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        self.clients.verify_client_cert(certificate, intermediates, now).map_err(|_| ())?;
        subject::identity(certificate).map(Some).ok_or(())
    }
}

/// Accepts every certificate in the handshake. Clients choose theirs by the names of the authorities.
#[derive(Debug)]
struct Anyone {
    provider: Arc<CryptoProvider>,
    authorities: Vec<DistinguishedName>,
}

impl ClientCertVerifier for Anyone {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.authorities
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
