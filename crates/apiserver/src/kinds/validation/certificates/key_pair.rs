//! Warnings about the certificates and keys in secrets (`tls.X509KeyPair`).

use serde_json::Value;

use super::{decode, pem};
use crate::kinds::validation::text;

/// Warns about a TLS secret without a certificate or a key. Whether both belong together is not checked.
pub(in crate::kinds::validation) fn warn(
    secret: &Value,
    _old: Option<&Value>,
    _minor: u32,
    out: &mut Vec<String>,
) {
    if text(&secret["type"]) != "kubernetes.io/tls" {
        return;
    }
    let labels = |key: &str| -> Vec<String> {
        pem::blocks(&decode(&secret["data"][key])).into_iter().map(|block| block.label).collect()
    };
    let (certificates, keys) = (labels("tls.crt"), labels("tls.key"));
    let problem = certificate_problem(&certificates).or_else(|| key_problem(&keys));
    out.extend(problem);
}

fn is_key(label: &str) -> bool {
    label == "PRIVATE KEY" || label.ends_with(" PRIVATE KEY")
}

fn certificate_problem(labels: &[String]) -> Option<String> {
    match labels {
        _ if labels.iter().any(|label| label == "CERTIFICATE") => None,
        [] => Some("tls: failed to find any PEM data in certificate input".to_owned()),
        [only] if is_key(only) => Some(
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs \
             may have been switched"
                .to_owned(),
        ),
        _ => Some(format!(
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
             following types: [{}]",
            labels.join(" ")
        )),
    }
}

fn key_problem(labels: &[String]) -> Option<String> {
    match labels {
        _ if labels.iter().any(|label| is_key(label)) => None,
        [] => Some("tls: failed to find any PEM data in key input".to_owned()),
        [only] if only == "CERTIFICATE" => {
            Some("tls: found a certificate rather than a key in the PEM for the private key".to_owned())
        }
        _ => Some(format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks \
             of the following types: [{}]",
            labels.join(" ")
        )),
    }
}
