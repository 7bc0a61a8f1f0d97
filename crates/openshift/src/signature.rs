//! Release signatures in the simulated signature stores and ConfigMaps.
//!
//! The claim is like that of a real atomic container signature. The name of the signing keyring replaces the
//! cryptography.

use serde_json::{Value, json};

/// The name of Red Hat's keyring in payloads.
pub const KEYRING: &str = "verifier-public-key-redhat";

/// The signature stores in payloads.
pub const STORES: [&str; 2] = [
    "https://storage.googleapis.com/openshift-release/official/signatures/openshift/release",
    "https://mirror.openshift.com/pub/openshift-v4/signatures/openshift/release",
];

/// Label of ConfigMaps with signatures.
pub const LABEL: &str = "release.openshift.io/verification-signatures";

/// Namespace of these ConfigMaps.
pub const NAMESPACE: &str = "openshift-config-managed";

/// The signature of an image `digest` by the key of `keyring`.
pub fn document(digest: &str, keyring: &str) -> String {
    let claim = json!({
        "critical": {
            "identity": { "docker-reference": "quay.io/openshift-release-dev/ocp-release" },
            "image": { "docker-manifest-digest": digest },
            "type": "atomic container signature",
        },
        "optional": { "creator": "windtunnel" },
        "signed-by": keyring,
    });
    claim.to_string()
}

/// The keyring that signed `digest` with this document, if it is a valid signature.
pub fn signer(document: &str, digest: &str) -> Option<String> {
    let claim: Value = serde_json::from_str(document).ok()?;
    let text = |pointer: &str| claim.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let holds = text("/critical/type") == "atomic container signature"
        && text("/critical/image/docker-manifest-digest") == digest
        && !text("/critical/identity/docker-reference").is_empty();
    holds.then(|| text("/signed-by").to_owned())
}

/// The prefix of keys in ConfigMaps with signatures of `digest`: `sha256-<hex>-`.
pub fn key_prefix(digest: &str) -> String {
    format!("{}-", digest.replace(':', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_valid_for_one_digest_and_one_keyring() {
        let document = document("sha256:aa", KEYRING);
        assert_eq!(signer(&document, "sha256:aa").as_deref(), Some(KEYRING));
        assert_eq!(signer(&document, "sha256:bb"), None, "the signature of another image");
        assert_eq!(signer("-----BEGIN PGP MESSAGE-----", "sha256:aa"), None, "not a simulated signature");
        let nameless = document.replace("quay.io/openshift-release-dev/ocp-release", "");
        assert_eq!(signer(&nameless, "sha256:aa"), None, "without an identity");
    }
}
