//! Certificates for CertificateSigningRequests, as kube-controller-manager's signers issue them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DnType, DnValue, ExtendedKeyUsagePurpose,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;

use super::Authority;

/// The lifetime of a certificate (`--cluster-signing-duration`), in seconds.
const LONGEST: i64 = 365 * 24 * 3600;
/// The least lifetime that a request gets, in seconds.
const SHORTEST: i64 = 600;
/// Certificates begin this long ago, in seconds.
const BACKDATE: i64 = 300;
/// Longer lifetimes end earlier by [`BACKDATE`].
const SHORT: i64 = 8 * 3600;

/// An approved request gets no certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// The rules of the signer reject the request, for good.
    #[error("{0}")]
    Rejected(String),
    /// The request cannot be read, or the certificate cannot be created.
    #[error("{0}")]
    Failed(String),
}

impl Authority {
    /// Signs a CertificateSigningRequest, and returns the certificate as PEM. `None` if the signer is none of Kubernetes' own.
    ///
    /// # Errors
    /// See [`SigningError`].
    pub fn sign(&self, request: &Object, now: Time) -> Result<Option<String>, SigningError> {
        let failed = |why: &dyn std::fmt::Display| SigningError::Failed(why.to_string());
        let bytes = STANDARD.decode(request.text("/spec/request")).map_err(|error| failed(&error))?;
        let mut parsed = CertificateSigningRequestParams::from_pem(&String::from_utf8_lossy(&bytes))
            .map_err(|error| failed(&error))?;
        let usages: Vec<&str> = request.list("/spec/usages").iter().filter_map(Value::as_str).collect();
        let checked = match request.text("/spec/signerName") {
            "kubernetes.io/kube-apiserver-client" => check_client(&usages),
            "kubernetes.io/kube-apiserver-client-kubelet" => check_kubelet_client(&parsed.params, &usages),
            "kubernetes.io/kubelet-serving" => check_kubelet_server(&parsed.params, &usages),
            "kubernetes.io/legacy-unknown" => Ok(()),
            _ => return Ok(None),
        };
        checked.map_err(SigningError::Rejected)?;
        let params = &mut parsed.params;
        (params.key_usages, params.extended_key_usages) = (key_usages(&usages), extended_usages(&usages));
        params.custom_extensions.clear();
        params.use_authority_key_identifier_extension = true;
        set_lifetime(params, request.number("/spec/expirationSeconds"), now);
        let certificate = parsed.signed_by(self.issuer()).map_err(|error| failed(&error))?;
        Ok(Some(certificate.pem()))
    }
}

fn set_lifetime(params: &mut CertificateParams, wanted: Option<i64>, now: Time) {
    let seconds = wanted.unwrap_or(LONGEST).clamp(SHORTEST, LONGEST);
    let end = if seconds < SHORT { seconds } else { seconds - BACKDATE };
    let at =
        |second: i64| date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(second).unwrap_or(0));
    params.not_before = at(now.as_second().saturating_sub(BACKDATE));
    params.not_after = at(now.as_second().saturating_add(end));
}

/// `validAPIServerClientUsages`.
fn check_client(usages: &[&str]) -> Result<(), String> {
    let wrong = usages
        .iter()
        .find(|usage| !matches!(**usage, "digital signature" | "key encipherment" | "client auth"));
    match wrong {
        Some(usage) => Err(format!("invalid usage for client certificate: {usage}")),
        None if usages.contains(&"client auth") => Ok(()),
        None => Err("missing required usage for client certificate: client auth".to_owned()),
    }
}

/// `ValidateKubeletClientCSR`.
fn check_kubelet_client(params: &CertificateParams, usages: &[&str]) -> Result<(), String> {
    check_organization(params)?;
    let has = |wanted: fn(&SanType) -> bool| params.subject_alt_names.iter().any(wanted);
    for (found, name) in [
        (has(|name| matches!(name, SanType::DnsName(_))), "DNS"),
        (has(|name| matches!(name, SanType::Rfc822Name(_))), "Email"),
        (has(|name| matches!(name, SanType::IpAddress(_))), "IP"),
        (has(|name| matches!(name, SanType::URI(_))), "URI"),
    ] {
        if found {
            return Err(format!("{name} subjectAltNames are not allowed"));
        }
    }
    check_common_name(params)?;
    check_usages(usages, "client auth")
}

/// `ValidateKubeletServingCSR`.
fn check_kubelet_server(params: &CertificateParams, usages: &[&str]) -> Result<(), String> {
    check_organization(params)?;
    let names = &params.subject_alt_names;
    if !names.iter().any(|name| matches!(name, SanType::DnsName(_) | SanType::IpAddress(_))) {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    if names.iter().any(|name| matches!(name, SanType::Rfc822Name(_))) {
        return Err("Email subjectAltNames are not allowed".to_owned());
    }
    if names.iter().any(|name| matches!(name, SanType::URI(_))) {
        return Err("URI subjectAltNames are not allowed".to_owned());
    }
    check_usages(usages, "server auth")?;
    check_common_name(params)
}

fn check_organization(params: &CertificateParams) -> Result<(), String> {
    if text(params, &DnType::OrganizationName) == Some("system:nodes") {
        return Ok(());
    }
    Err("subject organization is not system:nodes".to_owned())
}

fn check_common_name(params: &CertificateParams) -> Result<(), String> {
    if text(params, &DnType::CommonName).is_some_and(|name| name.starts_with("system:node:")) {
        return Ok(());
    }
    Err("subject common name does not begin with system:node:".to_owned())
}

fn check_usages(usages: &[&str], role: &str) -> Result<(), String> {
    let allowed = ["digital signature", "key encipherment", role];
    let has = |usage: &str| usages.contains(&usage);
    if usages.iter().all(|usage| allowed.contains(usage)) && has("digital signature") && has(role) {
        return Ok(());
    }
    let mut allowed = allowed;
    allowed.sort_unstable();
    Err(format!("usages did not match [{}]", allowed.join(" ")))
}

/// A part of the subject.
fn text<'p>(params: &'p CertificateParams, part: &DnType) -> Option<&'p str> {
    match params.distinguished_name.get(part)? {
        DnValue::Utf8String(text) => Some(text),
        DnValue::PrintableString(text) => Some(text.as_str()),
        DnValue::Ia5String(text) => Some(text.as_str()),
        DnValue::TeletexString(text) => Some(text.as_str()),
        _ => None,
    }
}

fn key_usages(usages: &[&str]) -> Vec<KeyUsagePurpose> {
    let purpose = |usage: &&str| {
        Some(match *usage {
            "signing" | "digital signature" => KeyUsagePurpose::DigitalSignature,
            "content commitment" => KeyUsagePurpose::ContentCommitment,
            "key encipherment" => KeyUsagePurpose::KeyEncipherment,
            "key agreement" => KeyUsagePurpose::KeyAgreement,
            "data encipherment" => KeyUsagePurpose::DataEncipherment,
            "cert sign" => KeyUsagePurpose::KeyCertSign,
            "crl sign" => KeyUsagePurpose::CrlSign,
            "encipher only" => KeyUsagePurpose::EncipherOnly,
            "decipher only" => KeyUsagePurpose::DecipherOnly,
            _ => return None,
        })
    };
    usages.iter().filter_map(purpose).collect()
}

fn extended_usages(usages: &[&str]) -> Vec<ExtendedKeyUsagePurpose> {
    let purpose = |usage: &&str| {
        Some(match *usage {
            "any" => ExtendedKeyUsagePurpose::Any,
            "server auth" => ExtendedKeyUsagePurpose::ServerAuth,
            "client auth" => ExtendedKeyUsagePurpose::ClientAuth,
            "code signing" => ExtendedKeyUsagePurpose::CodeSigning,
            "email protection" | "s/mime" => ExtendedKeyUsagePurpose::EmailProtection,
            "timestamping" => ExtendedKeyUsagePurpose::TimeStamping,
            "ocsp signing" => ExtendedKeyUsagePurpose::OcspSigning,
            _ => return None,
        })
    };
    usages.iter().filter_map(purpose).collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{DistinguishedName, KeyPair};
    use serde_json::json;

    use super::*;

    fn signed(
        name: &str,
        organization: &str,
        signer: &str,
        usages: &[&str],
    ) -> Result<Option<String>, SigningError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, organization);
        let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let spec = json!({ "request": STANDARD.encode(request), "signerName": signer, "usages": usages });
        let now = "2024-01-01T00:00:00Z".parse().unwrap();
        Authority::generate().unwrap().sign(&Object::new(json!({ "spec": spec })), now)
    }

    #[test]
    fn signers_issue_what_their_rules_allow() {
        let client = "kubernetes.io/kube-apiserver-client";
        let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
        let usages = ["digital signature", "client auth"];
        let pem = signed("jay", "birds", client, &usages).unwrap().unwrap();
        assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"), "{pem}");
        assert_eq!(signed("jay", "birds", "example.com/own", &usages), Ok(None));
        assert!(signed("system:node:a", "system:nodes", kubelet, &usages).unwrap().is_some());
        for (name, organization, signer, usages, why) in [
            (
                "jay",
                "birds",
                client,
                &["server auth"][..],
                "invalid usage for client certificate: server auth",
            ),
            ("jay", "birds", client, &[], "missing required usage for client certificate: client auth"),
            ("jay", "birds", kubelet, &usages, "subject organization is not system:nodes"),
            ("jay", "system:nodes", kubelet, &usages, "subject common name does not begin with system:node:"),
            (
                "system:node:a",
                "system:nodes",
                kubelet,
                &["client auth"],
                "usages did not match [client auth digital signature key encipherment]",
            ),
        ] {
            assert_eq!(
                signed(name, organization, signer, usages),
                Err(SigningError::Rejected(why.to_owned()))
            );
        }
    }
}
