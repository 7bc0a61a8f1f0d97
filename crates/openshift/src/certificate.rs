//! Certificates within a simulated cluster: PEM blocks that name their signer, without cryptography.
//!
//! Simulated components use no TLS. The contents of a block are not X.509, but only the facts by which one
//! component trusts another.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The key of CA certificates in ConfigMaps with a bundle.
pub const BUNDLE_KEY: &str = "service-ca.crt";

const BEGIN: &str = "-----BEGIN CERTIFICATE-----\n";
const END: &str = "-----END CERTIFICATE-----\n";

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The subject, such as the name of a Service.
    pub subject: String,
    /// The name of its key.
    pub key: String,
    /// The name of the key that signed it. A self-signed certificate has its own.
    pub signed_by: String,
}

impl Certificate {
    /// The self-signed certificate of a signer.
    pub fn of_signer(subject: impl Into<String>, key: impl Into<String>) -> Self {
        let key = key.into();
        Self { subject: subject.into(), signed_by: key.clone(), key }
    }

    /// The certificate in PEM.
    pub fn pem(&self) -> String {
        let facts = json!({ "subject": self.subject, "key": self.key, "signedBy": self.signed_by });
        format!("{BEGIN}{}\n{END}", STANDARD.encode(facts.to_string()))
    }

    /// All certificates in a text. Invalid blocks are skipped.
    pub fn all_in(pem: &str) -> Vec<Self> {
        pem.split(BEGIN).skip(1).filter_map(|block| Self::parse(block.split(END).next()?)).collect()
    }

    fn parse(block: &str) -> Option<Self> {
        let facts: Value = serde_json::from_slice(&STANDARD.decode(block.trim()).ok()?).ok()?;
        let text = |field: &str| facts[field].as_str().map(str::to_owned);
        Some(Self { subject: text("subject")?, key: text("key")?, signed_by: text("signedBy")? })
    }

    /// The first certificate in a Secret of type `kubernetes.io/tls`.
    pub fn in_secret(secret: &Value) -> Option<Self> {
        let encoded = secret["data"]["tls.crt"].as_str()?;
        let pem = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        Self::all_in(&pem).into_iter().next()
    }

    /// The data of a Secret with this certificate and its key.
    pub fn secret_data(&self) -> Value {
        let key = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(&self.key)
        );
        json!({ "tls.crt": STANDARD.encode(self.pem()), "tls.key": STANDARD.encode(key) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_its_own_pem_and_skips_invalid_blocks() {
        let signer = Certificate::of_signer("signer", "a");
        let other =
            Certificate { subject: "web.svc".to_owned(), key: "b".to_owned(), signed_by: "a".to_owned() };
        let bundle = format!("# two\n{}{BEGIN}AAAA\n{END}{BEGIN}{}", signer.pem(), other.pem());
        assert_eq!(Certificate::all_in(&bundle), [signer, other.clone()]);
        let secret = json!({ "data": other.secret_data() });
        assert_eq!(Certificate::in_secret(&secret), Some(other));
        for invalid in
            [json!({}), json!({ "data": { "tls.crt": "?" } }), json!({ "data": { "tls.crt": "" } })]
        {
            assert_eq!(Certificate::in_secret(&invalid), None, "{invalid}");
        }
    }
}
