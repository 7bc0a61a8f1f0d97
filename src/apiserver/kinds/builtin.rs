//! The kinds that the server knows without a CustomResourceDefinition.

use super::{Generation, Kind, Rules, StatusMetadata};
use crate::apiserver::names::NameRule;
use crate::apiserver::store::TableId;
use crate::model::Resource;

/// What is common: names are DNS subdomains, no status, no generation, updates overwrite.
const PLAIN: Rules = Rules {
    names: NameRule::Subdomain,
    status: false,
    status_metadata: StatusMetadata::Taken,
    generation: Generation::None,
    unconditional_update: true,
    create_on_update: false,
    stored: true,
};
/// With a specification that is counted and a status of its own.
const SPEC_AND_STATUS: Rules = Rules { status: true, generation: Generation::Specification, ..PLAIN };
/// With a counted specification only.
const COUNTED: Rules = Rules { generation: Generation::Specification, ..PLAIN };
/// With a status whose kind counts nothing.
const STATUS: Rules = Rules { status: true, ..PLAIN };
/// Roles and bindings.
const RBAC: Rules = Rules { names: NameRule::PathSegment, create_on_update: true, ..PLAIN };
/// Questions about access.
const REVIEW: Rules = Rules { stored: false, ..PLAIN };
const UPSERT: Rules = Rules { create_on_update: true, ..PLAIN };
const DEPLOYMENT: Rules = Rules {
    generation: Generation::SpecificationAndAnnotations,
    status_metadata: StatusMetadata::TakenButLabels,
    ..SPEC_AND_STATUS
};
const CRD: Rules =
    Rules { status_metadata: StatusMetadata::Ignored, unconditional_update: false, ..SPEC_AND_STATUS };
const LEASE: Rules = Rules { unconditional_update: false, create_on_update: true, ..PLAIN };
const NAMESPACE: Rules = Rules { names: NameRule::Label, ..STATUS };

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Kind and rules; short names are for discovery.
type Row = (Resource, Rules, &'static [&'static str]);

macro_rules! rows {
    ($($scope:ident $group:expr, $version:literal, $kind:literal, $plural:literal, $rules:expr, $short:expr;)*) => {
        &[$((Resource::$scope($group, $version, $kind, $plural), $rules, &$short)),*]
    };
}

#[rustfmt::skip]
const ROWS: &[Row] = rows! {
    namespaced "", "v1", "ConfigMap", "configmaps", PLAIN, ["cm"];
    namespaced "", "v1", "Endpoints", "endpoints", UPSERT, ["ep"];
    namespaced "", "v1", "Event", "events", UPSERT, ["ev"];
    namespaced "", "v1", "LimitRange", "limitranges", UPSERT, ["limits"];
    cluster    "", "v1", "Namespace", "namespaces", NAMESPACE, ["ns"];
    cluster    "", "v1", "Node", "nodes", STATUS, ["no"];
    namespaced "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", STATUS, ["pvc"];
    cluster    "", "v1", "PersistentVolume", "persistentvolumes", STATUS, ["pv"];
    namespaced "", "v1", "Pod", "pods", SPEC_AND_STATUS, ["po"];
    namespaced "", "v1", "ReplicationController", "replicationcontrollers", SPEC_AND_STATUS, ["rc"];
    namespaced "", "v1", "ResourceQuota", "resourcequotas", STATUS, ["quota"];
    namespaced "", "v1", "Secret", "secrets", PLAIN, [];
    namespaced "", "v1", "ServiceAccount", "serviceaccounts", PLAIN, ["sa"];
    namespaced "", "v1", "Service", "services", Rules { create_on_update: true, ..STATUS }, ["svc"];
    namespaced "apps", "v1", "ControllerRevision", "controllerrevisions", PLAIN, [];
    namespaced "apps", "v1", "DaemonSet", "daemonsets", SPEC_AND_STATUS, ["ds"];
    namespaced "apps", "v1", "Deployment", "deployments", DEPLOYMENT, ["deploy"];
    namespaced "apps", "v1", "ReplicaSet", "replicasets", SPEC_AND_STATUS, ["rs"];
    namespaced "apps", "v1", "StatefulSet", "statefulsets", SPEC_AND_STATUS, ["sts"];
    namespaced "batch", "v1", "CronJob", "cronjobs", SPEC_AND_STATUS, ["cj"];
    namespaced "batch", "v1", "Job", "jobs", SPEC_AND_STATUS, [];
    namespaced "coordination.k8s.io", "v1", "Lease", "leases", LEASE, [];
    namespaced "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", COUNTED, [];
    namespaced "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", COUNTED, ["netpol"];
    namespaced "networking.k8s.io", "v1", "Ingress", "ingresses", SPEC_AND_STATUS, ["ing"];
    namespaced "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", SPEC_AND_STATUS, ["pdb"];
    namespaced RBAC_GROUP, "v1", "Role", "roles", RBAC, [];
    namespaced RBAC_GROUP, "v1", "RoleBinding", "rolebindings", RBAC, [];
    cluster    RBAC_GROUP, "v1", "ClusterRole", "clusterroles", RBAC, [];
    cluster    RBAC_GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", RBAC, [];
    cluster    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", REVIEW, [];
    cluster    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", REVIEW, [];
    namespaced "authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", REVIEW, [];
    cluster    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", REVIEW, [];
    cluster    "authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", REVIEW, [];
    cluster    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", REVIEW, [];
    cluster    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", COUNTED, ["pc"];
    cluster    "storage.k8s.io", "v1", "StorageClass", "storageclasses", PLAIN, ["sc"];
    cluster    "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", UPSERT, [];
    cluster    "apiregistration.k8s.io", "v1", "APIService", "apiservices", STATUS, [];
    cluster    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", CRD, ["crd", "crds"];
    cluster    ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", COUNTED, [];
    cluster    ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", COUNTED, [];
    cluster    ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", SPEC_AND_STATUS, [];
    cluster    ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", COUNTED, [];
    cluster    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", STATUS, ["csr"];
};

/// All built-in kinds; `table` gives each its table.
pub(crate) fn all(mut table: impl FnMut() -> TableId) -> Vec<Kind> {
    let kind = |(resource, rules, short): &Row| Kind {
        resource: resource.clone(),
        list_kind: format!("{}List", resource.kind),
        singular: resource.kind.to_lowercase(),
        short_names: short.iter().map(|&name| name.to_owned()).collect(),
        categories: Vec::new(),
        table: table(),
        rules: *rules,
        custom: None,
    };
    ROWS.iter().map(kind).collect()
}
