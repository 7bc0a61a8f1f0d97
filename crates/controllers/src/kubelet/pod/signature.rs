//! The verification of Sigstore signatures by the container runtime, with the messages of containers/image.

use windtunnel_core::resources::CLUSTER_IMAGE_POLICIES;
use windtunnel_core::{Object, View};

use crate::registry::{Signature, repository_of};

/// The repository that a signature for another identity names.
const OTHER_REPOSITORY: &str = "registry.example.com/releases/ocp-release";

/// The subject of a certificate for another identity.
const OTHER_HOST: &str = "builder.example.com";

/// The algorithm identifier of an RSA key in the base64 form of `keyData`, which encodes a PEM file, so
/// base64 of base64. It is complete because it starts at a multiple of three bytes.
const RSA: &str = "QU5CZ2txaGtpRzl3MEJBUUVG";

/// The reason why the container runtime rejects an image with this signature. `None` if it accepts it.
///
/// Like `policy.json`, the policies with the longest scope that covers the image decide, and each of them has
/// to accept the signature.
pub(super) fn rejection(view: &View, signature: Signature, image: &str) -> Option<String> {
    let repository = repository_of(image);
    let policies: Vec<_> = view
        .list(&CLUSTER_IMAGE_POLICIES)
        .filter_map(|policy| Some((longest_scope(policy, repository)?, policy)))
        .collect();
    let longest = policies.iter().map(|(length, _)| *length).max()?;
    policies
        .into_iter()
        .filter(|(length, _)| *length == longest)
        .find_map(|(_, policy)| rejection_by(policy, signature))
}

fn longest_scope(policy: &Object, repository: &str) -> Option<usize> {
    policy
        .list("/spec/scopes")
        .iter()
        .filter_map(|scope| scope.as_str())
        .filter(|scope| covers(scope, repository))
        .map(str::len)
        .max()
}

/// The roots of trust that a policy can name.
enum Trust<'a> {
    Key { is_rsa: bool },
    Fulcio { email: &'a str },
    Pki { email: &'a str, host: &'a str },
}

fn trust(policy: &Object) -> Trust<'_> {
    let root = |field: &str| policy.text(&format!("/spec/policy/rootOfTrust/{field}"));
    match root("policyType") {
        "FulcioCAWithRekor" => Trust::Fulcio { email: root("fulcioCAWithRekor/fulcioSubject/signedEmail") },
        "PKI" => Trust::Pki {
            email: root("pki/pkiCertificateSubject/email"),
            host: root("pki/pkiCertificateSubject/hostname"),
        },
        _ => Trust::Key { is_rsa: root("publicKey/keyData").contains(RSA) },
    }
}

fn rejection_by(policy: &Object, signature: Signature) -> Option<String> {
    // The typo is that of containers/image.
    let certificate = |error: &str| format!("veryfing leaf certificate failed: x509: {error}");
    let cause = match (signature, trust(policy)) {
        (Signature::Valid, _) | (Signature::Expired, Trust::Key { .. }) => return None,
        (Signature::Missing, _) => "A signature was required, but no signature exists".to_owned(),
        (Signature::WrongKey, Trust::Key { is_rsa }) => {
            let error = if is_rsa {
                "crypto/rsa: verification error"
            } else {
                "invalid signature when validating ASN.1 encoded signature"
            };
            format!("cryptographic signature verification failed: {error}")
        }
        (Signature::WrongKey, _) => certificate("certificate signed by unknown authority"),
        (Signature::WrongIdentity, Trust::Key { .. }) => {
            format!("Signature for identity \"{OTHER_REPOSITORY}\" is not accepted")
        }
        (Signature::WrongIdentity, Trust::Pki { email: "", host }) => {
            format!("Unexpected subject hostname: x509: certificate is valid for {OTHER_HOST}, not {host}")
        }
        (Signature::WrongIdentity, Trust::Fulcio { email } | Trust::Pki { email, .. }) => {
            format!("Required email \"{email}\" not found (got [\"release@{OTHER_HOST}\"])")
        }
        // Certificates of Fulcio are valid for ten minutes, and the time of Rekor's entry has to be in them.
        (Signature::Expired, _) => certificate(
            "certificate has expired or is not yet valid: \
             current time 2023-11-14T22:31:07Z is after 2023-11-14T22:20:00Z",
        ),
    };
    Some(cause)
}

/// Matches a scope like `policy.json` (containers-policy.json(5)): a repository, a namespace or host above
/// it, or `*.domain`.
fn covers(scope: &str, repository: &str) -> bool {
    if let Some(domain) = scope.strip_prefix('*') {
        return repository.split('/').next().is_some_and(|host| host.ends_with(domain));
    }
    repository.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Rig;

    const IMAGE: &str = "quay.io/openshift-release-dev/ocp-release@sha256:0000";

    fn policy(name: &str, scope: &str, root: &Value) -> Value {
        let policy = json!({ "rootOfTrust": root });
        json!({ "metadata": { "name": name }, "spec": { "scopes": [scope], "policy": policy } })
    }

    fn rejections(policies: &[Value]) -> [Option<String>; 5] {
        let mut rig = Rig::new();
        for policy in policies {
            rig.put(&CLUSTER_IMAGE_POLICIES, policy.clone());
        }
        Signature::NAMES.map(|name| rejection(&rig.view, Signature::named(name).unwrap(), IMAGE))
    }

    #[test]
    fn each_root_of_trust_has_its_own_errors() {
        let missing = "A signature was required, but no signature exists";
        let unknown = "veryfing leaf certificate failed: x509: certificate signed by unknown authority";
        let expired = "veryfing leaf certificate failed: x509: certificate has expired or is not yet valid: \
                       current time 2023-11-14T22:31:07Z is after 2023-11-14T22:20:00Z";
        let failed = "cryptographic signature verification failed: ";
        let ecdsa = &format!("{failed}invalid signature when validating ASN.1 encoded signature");
        let rsa = &format!("{failed}crypto/rsa: verification error");
        let rsa_key = "LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJQ0lqQU5CZ2txaGtpRzl3MEJBUUVGQUFPQ0FnOEE=";
        let other = "Signature for identity \"registry.example.com/releases/ocp-release\" is not accepted";
        let email = "Required email \"release@redhat.com\" not found (got [\"release@builder.example.com\"])";
        let host = "Unexpected subject hostname: x509: certificate is valid for builder.example.com, \
                    not builds.redhat.com";
        let fulcio = json!({ "fulcioSubject": { "signedEmail": "release@redhat.com" } });
        let pki =
            |subject: Value| json!({ "policyType": "PKI", "pki": { "pkiCertificateSubject": subject } });
        for (root, expected) in [
            (json!({ "policyType": "PublicKey", "publicKey": {} }), [ecdsa, other, ""]),
            (json!({ "policyType": "PublicKey", "publicKey": { "keyData": rsa_key } }), [rsa, other, ""]),
            (
                json!({ "policyType": "FulcioCAWithRekor", "fulcioCAWithRekor": fulcio }),
                [unknown, email, expired],
            ),
            (pki(json!({ "email": "release@redhat.com" })), [unknown, email, expired]),
            (pki(json!({ "hostname": "builds.redhat.com" })), [unknown, host, expired]),
        ] {
            let found = rejections(&[policy("openshift", "quay.io", &root)]);
            let found = found.each_ref().map(|cause| cause.as_deref().unwrap_or_default());
            assert_eq!(found, ["", missing, expected[0], expected[1], expected[2]], "{root}");
        }
    }

    #[test]
    fn the_longest_scope_decides() {
        let key = || json!({ "policyType": "PublicKey" });
        let fulcio = || json!({ "policyType": "FulcioCAWithRekor" });
        let near = policy("a", "quay.io/openshift-release-dev/ocp-release", &key());
        let far = policy("b", "quay.io", &fulcio());
        let [.., expired] = rejections(&[near.clone(), far.clone()]);
        assert_eq!(expired, None);
        let [.., expired] =
            rejections(&[near, policy("c", "quay.io/openshift-release-dev/ocp-release", &fulcio())]);
        assert!(expired.is_some());
        assert!(rejections(&[policy("d", "quay.io/other", &key())]).iter().all(Option::is_none));
    }

    #[test]
    fn a_scope_covers_complete_path_elements_below_it() {
        let repository = "quay.io/openshift-release-dev/ocp-release";
        for (scope, expected) in [
            (repository, true),
            ("quay.io/openshift-release-dev", true),
            ("quay.io", true),
            ("*.io", true),
            ("quay.io/openshift-release-dev/ocp", false),
            ("registry.ci.openshift.org", false),
        ] {
            assert_eq!(covers(scope, repository), expected, "{scope}");
        }
    }
}
