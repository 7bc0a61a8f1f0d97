//! ServiceAccount tokens: signed claims (JWT, ES256), and the OpenID documents that let clients verify them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windtunnel_core::rng::Stream;

/// The issuer of tokens, and their default audience (`--service-account-issuer`).
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

/// The maximum number of verified tokens in the cache. When it is full, it is emptied.
const MAX_VERIFIED: usize = 1024;

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    #[serde(rename = "aud")]
    pub(crate) audiences: Vec<String>,
    /// Seconds since 1970, like all times here.
    #[serde(rename = "exp")]
    pub(crate) expires: i64,
    #[serde(rename = "iat")]
    pub(crate) issued: i64,
    #[serde(rename = "iss")]
    pub(crate) issuer: String,
    #[serde(rename = "jti")]
    pub(crate) id: String,
    #[serde(rename = "kubernetes.io")]
    pub(crate) bound: Bound,
    #[serde(rename = "nbf")]
    pub(crate) not_before: i64,
    #[serde(rename = "sub")]
    pub(crate) subject: String,
}

/// The ServiceAccount of a token, and the objects to which the token is bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bound {
    pub(crate) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) node: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) pod: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) secret: Option<Reference>,
    #[serde(rename = "serviceaccount")]
    pub(crate) account: Reference,
    #[serde(rename = "warnafter", skip_serializing_if = "Option::is_none", default)]
    pub(crate) warn_after: Option<i64>,
}

/// A reference to an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub(crate) uid: String,
}

/// Signs and verifies tokens. It draws the key on first use, because that would take most of the start-up time.
#[derive(Debug)]
pub(crate) struct Issuer {
    stream: Stream,
    keys: OnceLock<Keys>,
    verified: Mutex<BTreeMap<String, Arc<Claims>>>,
}

#[derive(Debug)]
struct Keys {
    signing: SigningKey,
    verifying: VerifyingKey,
    id: String,
}

impl Issuer {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, keys: OnceLock::new(), verified: Mutex::default() }
    }

    fn keys(&self) -> &Keys {
        self.keys.get_or_init(|| Keys::draw(self.stream.clone()))
    }

    /// Creates a token with these claims.
    pub(crate) fn sign(&self, claims: &Claims) -> String {
        let keys = self.keys();
        let header = json!({ "alg": "ES256", "kid": keys.id });
        let part = |value: String| URL_SAFE_NO_PAD.encode(value);
        let claims = serde_json::to_string(claims).unwrap_or_default();
        let signed = format!("{}.{}", part(header.to_string()), part(claims));
        let signature: Signature = keys.signing.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    /// The claims of a token; `None` if this issuer did not sign it.
    pub(crate) fn verify(&self, token: &str) -> Option<Arc<Claims>> {
        let known = |issuer: &Self| {
            issuer.verified.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
        };
        if let Some(claims) = known(self) {
            return Some(claims);
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let header: Value = serde_json::from_slice(&decode(header)?).ok()?;
        if header["alg"] != "ES256" || header["kid"] != *self.keys().id {
            return None;
        }
        let signature = Signature::from_slice(&decode(signature)?).ok()?;
        self.keys().verifying.verify(signed.as_bytes(), &signature).ok()?;
        let claims: Claims = serde_json::from_slice(&decode(claims)?).ok()?;
        let claims = Arc::new(claims);
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= MAX_VERIFIED {
            verified.clear();
        }
        verified.insert(token.to_owned(), Arc::clone(&claims));
        Some(claims)
    }

    /// The public keys (`/openid/v1/jwks`).
    pub(crate) fn key_set(&self) -> Value {
        let keys = self.keys();
        let point = keys.verifying.to_sec1_point(false);
        let part = |bytes: Option<&[u8]>| URL_SAFE_NO_PAD.encode(bytes.unwrap_or_default());
        let (x, y) = (point.x().map(AsRef::as_ref), point.y().map(AsRef::as_ref));
        json!({ "keys": [{
            "use": "sig", "kty": "EC", "kid": keys.id, "crv": "P-256", "alg": "ES256", "x": part(x), "y": part(y),
        }] })
    }

    /// The discovery document (`/.well-known/openid-configuration`).
    #[expect(clippy::unused_self, reason = "an issuer's own document")]
    pub(crate) fn configuration(&self) -> Value {
        json!({
            "issuer": ISSUER,
            "jwks_uri": format!("{ISSUER}/openid/v1/jwks"),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }
}

impl Keys {
    fn draw(mut stream: Stream) -> Self {
        loop {
            let mut bytes = [0; 32];
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&stream.bits().to_be_bytes());
            }
            // About one draw in four billion is not a valid key.
            if let Ok(signing) = SigningKey::from_slice(&bytes) {
                let verifying = *signing.verifying_key();
                let id = URL_SAFE_NO_PAD.encode(Sha256::digest(verifying.to_sec1_bytes()));
                return Self { signing, verifying, id };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::rng::Streams;

    use super::*;

    fn issuer(seed: u64) -> Issuer {
        Issuer::new(Streams::new(seed).stream("key"))
    }

    fn claims() -> Claims {
        let account = Reference { name: "a".into(), uid: "u".into() };
        let bound = Bound { namespace: "n".into(), account, ..Bound::default() };
        let id = "1".to_owned();
        let audiences = vec![ISSUER.to_owned()];
        let subject = "system:serviceaccount:n:a".to_owned();
        Claims { audiences, expires: 9, issued: 1, issuer: ISSUER.into(), id, bound, not_before: 1, subject }
    }

    #[test]
    fn token_carries_signed_claims_and_same_seed_gives_same_token() {
        let token = issuer(1).sign(&claims());
        assert_eq!(token, issuer(1).sign(&claims()));
        assert_eq!(issuer(1).verify(&token).as_deref(), Some(&claims()));
    }

    #[test]
    fn issuer_rejects_altered_tokens_and_tokens_of_other_keys() {
        let token = issuer(1).sign(&claims());
        assert_eq!(issuer(2).verify(&token), None);
        let other = issuer(1).sign(&Claims { expires: 10, ..claims() });
        let (head, _) = token.rsplit_once('.').unwrap();
        let (_, signature) = other.rsplit_once('.').unwrap();
        for bad in
            [format!("{head}.{signature}"), format!("{token}A"), "a.b.c".into(), String::new(), "..".into()]
        {
            assert_eq!(issuer(1).verify(&bad), None, "{bad}");
        }
    }
}
