//! The signature on a certificate (`Certificate.CheckSignatureFrom`).

use tokio_rustls::rustls::crypto::WebPkiSupportedAlgorithms;

use super::Certificate;
use crate::der::{OID, Reader};

/// A kind of keys and of the signatures that they make.
struct Family {
    /// Its name in messages.
    name: &'static str,
    /// The beginning of the OIDs of its algorithms.
    oid: &'static [u8],
    /// Go's type of its public keys.
    key_type: &'static str,
    /// Go's message for a wrong signature.
    failure: &'static str,
}

const FAMILIES: [Family; 3] = [
    Family {
        name: "RSA",
        oid: &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1],
        key_type: "*rsa.PublicKey",
        failure: "crypto/rsa: verification error",
    },
    Family {
        name: "ECDSA",
        oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d],
        key_type: "*ecdsa.PublicKey",
        failure: "x509: ECDSA verification failure",
    },
    Family {
        name: "Ed25519",
        oid: &[0x2b, 0x65, 0x70],
        key_type: "ed25519.PublicKey",
        failure: "x509: Ed25519 verification failure",
    },
];

/// Algorithms whose signatures Go rejects.
const INSECURE: [(&str, &[u8]); 4] = [
    ("MD5-RSA", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4]),
    ("SHA1-RSA", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5]),
    ("DSA-SHA1", &[0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3]),
    ("ECDSA-SHA1", &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1]),
];

const UNIMPLEMENTED: &str = "x509: cannot verify signature: algorithm unimplemented";

/// Checks that an authority signed a certificate.
///
/// # Errors
/// Go's message.
pub(super) fn check(
    certificate: &Certificate,
    authority: &Certificate,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<(), String> {
    let extensions = &authority.extensions;
    let may_sign = match extensions.is_authority {
        None => authority.version != 3,
        Some(is_authority) => is_authority,
    };
    if !may_sign || extensions.signs_certificates == Some(false) {
        return Err(
            "x509: invalid signature: parent certificate cannot sign this kind of certificate".to_owned()
        );
    }
    let oid = oid(&certificate.signature_algorithm);
    if let Some((name, _)) = INSECURE.iter().find(|(_, insecure)| oid == *insecure) {
        return Err(format!("x509: cannot verify signature: insecure algorithm {name}"));
    }
    let (signed, key) = (family(oid), family(self::oid(&authority.key_algorithm)));
    let (Some(signed), Some(key)) = (signed, key) else { return Err(UNIMPLEMENTED.to_owned()) };
    if signed.name != key.name {
        let (name, key_type) = (signed.name, key.key_type);
        let why = format!("specifies an {name} public key, but have public key of type {key_type}");
        return Err(format!("x509: signature algorithm {why}"));
    }
    let mut fitting = algorithms.all.iter().filter(|algorithm| {
        *algorithm.signature_alg_id() == *certificate.signature_algorithm
            && *algorithm.public_key_alg_id() == *authority.key_algorithm
    });
    let Some(algorithm) = fitting.next() else { return Err(UNIMPLEMENTED.to_owned()) };
    let verified = algorithm.verify_signature(&authority.key, &certificate.signed, &certificate.signature);
    verified.map_err(|_| signed.failure.to_owned())
}

/// The OID of an algorithm.
fn oid(algorithm: &[u8]) -> &[u8] {
    Reader(algorithm).next_if(OID).map(|oid| oid.content).unwrap_or_default()
}

fn family(oid: &[u8]) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| oid.starts_with(family.oid))
}
