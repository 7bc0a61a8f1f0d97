//! Certificates within a simulated cluster: PEM blocks that tell who signed whom, and nothing that could be computed with.
//!
//! Simulated programs speak no TLS, so that what stands in a block is not X.509: it is the few facts by which one program trusts
//! another.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What the certificates of those who sign others are called in the ConfigMaps of those who trust them.
pub const BUNDLE_KEY: &str = "service-ca.crt";

const BEGIN: &str = "-----BEGIN CERTIFICATE-----\n";
const END: &str = "-----END CERTIFICATE-----\n";

/// One certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is.
    pub subject: String,
    /// The name of its key.
    pub key: String,
    /// The name of the key that signed it: its own, where nobody else did.
    pub signed_by: String,
}

impl Certificate {
    /// The certificate of one who signs others.
    pub fn of_signer(subject: impl Into<String>, key: impl Into<String>) -> Self {
        let key = key.into();
        Self { subject: subject.into(), signed_by: key.clone(), key }
    }

    /// It in PEM.
    pub fn pem(&self) -> String {
        let facts = json!({ "subject": self.subject, "key": self.key, "signedBy": self.signed_by });
        format!("{BEGIN}{}\n{END}", STANDARD.encode(facts.to_string()))
    }

    /// All certificates in a text; what is none is passed over.
    pub fn all_in(pem: &str) -> Vec<Self> {
        pem.split(BEGIN).skip(1).filter_map(|block| Self::read(block.split(END).next()?)).collect()
    }

    fn read(block: &str) -> Option<Self> {
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

    /// The data of a Secret that holds it with its key.
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
    fn a_text_is_read_back_and_what_is_no_certificate_is_passed_over() {
        let signer = Certificate::of_signer("signer", "a");
        let other =
            Certificate { subject: "web.svc".to_owned(), key: "b".to_owned(), signed_by: "a".to_owned() };
        let bundle = format!("# two\n{}{BEGIN}AAAA\n{END}{BEGIN}{}", signer.pem(), other.pem());
        assert_eq!(Certificate::all_in(&bundle), [signer, other.clone()]);
        let secret = json!({ "data": other.secret_data() });
        assert_eq!(Certificate::in_secret(&secret), Some(other));
        for odd in [json!({}), json!({ "data": { "tls.crt": "?" } }), json!({ "data": { "tls.crt": "" } })] {
            assert_eq!(Certificate::in_secret(&odd), None, "{odd}");
        }
    }
}
