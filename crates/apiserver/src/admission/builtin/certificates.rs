//! Who may approve and sign certificates, and for whom: `CertificateApproval`, `CertificateSigning` and
//! `CertificateSubjectRestriction`.

use base64::Engine as _;
use serde_json::Value;
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster, Permission,
};
use windtunnel_core::{Resource, text_of};

use crate::der::{Name, subject_of_request};
use crate::gotext::quote;
use crate::kinds::validation::certificates::pem;

const REQUESTS: Resource =
    Resource::cluster("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests");
/// The kind in the rules for signers. There are no objects of it.
const SIGNERS: Resource = Resource::cluster("certificates.k8s.io", "*", "Signer", "signers");

/// The signer of certificates for clients of the server.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// The group that may do everything, whatever the roles are.
const MASTERS: &str = "system:masters";

/// Rejects approvals and denials by users who may not approve for the signer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CertificateApproval;

/// Rejects certificates from users who may not sign for the signer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CertificateSigning;

/// Rejects requests for client certificates of the group `system:masters`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CertificateSubjectRestriction;

impl AdmissionPlugin for CertificateApproval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        _object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        match updated(request, "approval") {
            // The signer of the old object: an update cannot change it.
            Some(old) => check(request, cluster, "approve", text_of(&old["spec"], "signerName")),
            None => Ok(()),
        }
    }
}

impl AdmissionPlugin for CertificateSigning {
    fn name(&self) -> &'static str {
        "CertificateSigning"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let (Some(old), Some(object)) = (updated(request, "status"), object) else { return Ok(()) };
        let differs = |field: &str| object["status"][field] != old["status"][field];
        if !differs("certificate") && !differs("conditions") {
            return Ok(());
        }
        check(request, cluster, "sign", text_of(&old["spec"], "signerName"))
    }
}

impl AdmissionPlugin for CertificateSubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        _cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let is_new = request.operation == AdmissionOperation::Create && request.writes(&REQUESTS);
        let object = object.filter(|object| is_new && object["spec"]["signerName"] == CLIENT_SIGNER);
        let subject = object.and_then(subject).unwrap_or_default();
        if subject.organizations.iter().any(|group| group == MASTERS) {
            let why = format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed");
            return Err(AdmissionRejection::Forbidden(why));
        }
        Ok(())
    }
}

/// The object before an update of a subresource of certificate requests; `None` for other requests.
fn updated<'a>(request: &AdmissionRequest<'a>, subresource: &str) -> Option<&'a Value> {
    let is_update = request.operation == AdmissionOperation::Update && request.is_of(&REQUESTS);
    request.old.filter(|_| is_update && request.subresource == subresource)
}

/// Rejects a user without a permission on a signer, and without one on all signers of its domain.
fn check(
    request: &AdmissionRequest<'_>,
    cluster: &mut dyn AdmittingCluster,
    verb: &str,
    signer: &str,
) -> Result<(), AdmissionRejection> {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer, &format!("{domain}/*")] {
        let permission = Permission { verb, resource: &SIGNERS, subresource: "", namespace: "", name };
        if cluster.allows(request.user, permission) {
            return Ok(());
        }
    }
    let signer = quote(signer);
    Err(AdmissionRejection::Forbidden(format!(
        "user not permitted to {verb} requests with signerName {signer}"
    )))
}

/// The subject of a certificate signing request; `None` if it is malformed, which its validation rejects.
pub(super) fn subject(request: &Value) -> Option<Name> {
    let text = text_of(&request["spec"], "request");
    let text = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    subject_of_request(&pem::blocks(&text).first()?.bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::builtin::testing::Cluster;

    #[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
    fn request(status: Value) -> Value {
        json!({ "metadata": { "name": "a" }, "spec": { "signerName": "example.com/x" }, "status": status })
    }

    fn approve(cluster: &mut Cluster) -> Result<(), AdmissionRejection> {
        let (old, new) = (request(json!({})), request(json!({ "conditions": [] })));
        cluster.validate(&CertificateApproval, &REQUESTS, "approval", &new, Some(&old))
    }

    #[test]
    fn approvers_need_a_permission_on_the_signer_or_its_domain() {
        let expected = r#"user not permitted to approve requests with signerName "example.com/x""#;
        let rejection = Err(AdmissionRejection::Forbidden(expected.to_owned()));
        assert_eq!(approve(&mut Cluster::new(36)), rejection);
        assert_eq!(approve(&mut Cluster::new(36).allowing(&["sign signers example.com/x"])), rejection);
        assert_eq!(approve(&mut Cluster::new(36).allowing(&["approve signers example.com/x"])), Ok(()));
        assert_eq!(approve(&mut Cluster::new(36).allowing(&["approve signers example.com/*"])), Ok(()));
    }

    #[test]
    fn signers_need_a_permission_to_change_certificates_and_conditions() {
        let sign = |old: Value, new: Value| {
            let (old, new) = (request(old), request(new));
            Cluster::new(36).validate(&CertificateSigning, &REQUESTS, "status", &new, Some(&old))
        };
        assert_eq!(sign(json!({ "certificate": "x" }), json!({ "certificate": "x", "other": 1 })), Ok(()));
        let expected = r#"user not permitted to sign requests with signerName "example.com/x""#;
        let rejection = Err(AdmissionRejection::Forbidden(expected.to_owned()));
        assert_eq!(sign(json!({}), json!({ "certificate": "x" })), rejection);
        assert_eq!(sign(json!({}), json!({ "conditions": [1] })), rejection);
    }

    #[test]
    fn clients_cannot_request_the_group_of_masters() {
        let request = |group: &str, signer: &str| {
            let parts = [(&[0x55, 0x04, 0x0a], group), (&[0x55, 0x04, 0x03], "jane")];
            let wrap =
                |tag: u8, content: &[u8]| [&[tag, u8::try_from(content.len()).unwrap()], content].concat();
            let parts = parts.map(|(kind, text)| {
                let pair = [wrap(6, kind), wrap(12, text.as_bytes())].concat();
                wrap(0x31, &wrap(0x30, &pair))
            });
            let subject = wrap(0x30, &parts.concat());
            let der = wrap(0x30, &wrap(0x30, &[wrap(2, &[0]), subject].concat()));
            let base64 = base64::engine::general_purpose::STANDARD;
            let pem = format!(
                "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
                base64.encode(der)
            );
            let object = json!({ "spec": { "signerName": signer, "request": base64.encode(pem) } });
            Cluster::new(36).validate(&CertificateSubjectRestriction, &REQUESTS, "", &object, None)
        };
        assert_eq!(request("devs", CLIENT_SIGNER), Ok(()));
        assert_eq!(request(MASTERS, "example.com/x"), Ok(()));
        let expected =
            "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        assert_eq!(request(MASTERS, CLIENT_SIGNER), Err(AdmissionRejection::Forbidden(expected.to_owned())));
    }
}
