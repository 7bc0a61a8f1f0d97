//! Built-in kinds that extend or guard the API: access, admission, certificates, definitions and aggregated
//! servers.

use super::{
    COUNTED_CONDITIONAL, COUNTED_EXACTLY, REVIEW, Resource, Row, Rules, SPEC_AND_SEPARATE_STATUS, STATUS,
    UPSERT, rows,
};
use crate::names::NameRule;

const ACCESS: Rules = Rules { names: NameRule::PathSegment, ..UPSERT };
const DEFINITION: Rules = Rules { unconditional_update: false, ..SPEC_AND_SEPARATE_STATUS };
const API_SERVICE: Rules = Rules { names: NameRule::PathSegment, unconditional_update: false, ..STATUS };
const CONFIGURATION: Rules = Rules { unconditional_update: false, ..COUNTED_EXACTLY };
const POLICY: Rules = Rules { unconditional_update: false, ..SPEC_AND_SEPARATE_STATUS };
const SIGNING_REQUEST: Rules = Rules { names: NameRule::PathSegment, ..STATUS };

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = rows! {
    namespaced RBAC, "v1", "Role", "roles", ACCESS, [];
    namespaced RBAC, "v1", "RoleBinding", "rolebindings", ACCESS, [];
    cluster    RBAC, "v1", "ClusterRole", "clusterroles", ACCESS, [];
    cluster    RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", ACCESS, [];
    cluster    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", REVIEW, [];
    cluster    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", REVIEW, [];
    namespaced "authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", REVIEW, [];
    cluster    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", REVIEW, [];
    cluster    "authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", REVIEW, [];
    cluster    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", REVIEW, [];
    cluster    "apiregistration.k8s.io", "v1", "APIService", "apiservices", API_SERVICE, [];
    cluster    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", DEFINITION, ["crd", "crds"];
    cluster    ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", CONFIGURATION, [];
    cluster    ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", CONFIGURATION, [];
    cluster    ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", POLICY, [], 30..=u32::MAX;
    cluster    ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", COUNTED_CONDITIONAL, [], 30..=u32::MAX;
    cluster    ADMISSION, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", COUNTED_CONDITIONAL, [], 36..=u32::MAX;
    cluster    ADMISSION, "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", COUNTED_CONDITIONAL, [], 36..=u32::MAX;
    cluster    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", SIGNING_REQUEST, ["csr"];
};
