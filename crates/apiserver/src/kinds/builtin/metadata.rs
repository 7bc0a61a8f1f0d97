//! How often a real server validates the metadata of each built-in kind (the `Validate*` functions of `pkg/apis`). An error
//! is in the causes of a rejection as often as it was found.

use crate::metadata::{Checks, Counts};

const NONE: Counts = Counts { as_new: 0, against_old: 0 };
const OLD: Counts = Counts { as_new: 0, against_old: 1 };
const NEW: Counts = Counts { as_new: 1, against_old: 0 };
const BOTH: Counts = Counts { as_new: 1, against_old: 1 };
/// Volumes: the strategy validates them as new ones, and so does `ValidatePersistentVolumeUpdate`.
const NEW_TWICE: Counts = Counts { as_new: 2, against_old: 0 };

/// The checks of `pkg/apis/core/validation`, which most kinds use.
const CORE: Checks = Checks { on_create: true, qualified_finalizers: true, update: OLD, status: OLD };
/// The checks of `k8s.io/apimachinery/pkg/api/validation`.
const GENERIC: Checks = Checks { qualified_finalizers: false, ..CORE };
/// Kinds whose strategy leaves the metadata to the checks that all kinds share.
const SHARED_ONLY: Checks =
    Checks { on_create: false, qualified_finalizers: false, update: NONE, status: NONE };

const CORE_BOTH: Checks = Checks { update: BOTH, ..CORE };
const CORE_NEW: Checks = Checks { update: NEW, status: NONE, ..CORE };
const CONFIGURATION: Checks = Checks { update: NEW, status: NONE, ..GENERIC };

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Group, plural and checks of the kinds that differ from [`CORE`].
#[rustfmt::skip]
const TABLE: &[(&str, &str, Checks)] = &[
    ("", "configmaps", CORE_BOTH),
    ("", "endpoints", CORE_BOTH),
    ("", "events", SHARED_ONLY),
    ("", "limitranges", CORE_NEW),
    ("", "namespaces", CORE_BOTH),
    ("", "nodes", CORE_BOTH),
    ("", "persistentvolumeclaims", CORE_BOTH),
    ("", "persistentvolumes", Checks { update: NEW_TWICE, ..CORE }),
    ("", "pods", CORE_BOTH),
    ("", "secrets", CORE_BOTH),
    ("", "serviceaccounts", CORE_BOTH),
    ("apps", "controllerrevisions", CORE_BOTH),
    ("batch", "cronjobs", Checks { status: NONE, ..CORE }),
    ("batch", "jobs", CORE_BOTH),
    ("policy", "poddisruptionbudgets", SHARED_ONLY),
    ("certificates.k8s.io", "certificatesigningrequests", Checks { update: BOTH, status: BOTH, ..CORE }),
    ("coordination.k8s.io", "leases", GENERIC),
    ("discovery.k8s.io", "endpointslices", CORE_NEW),
    (FLOW, "flowschemas", CORE_NEW),
    (FLOW, "prioritylevelconfigurations", CORE_NEW),
    ("node.k8s.io", "runtimeclasses", Checks { update: BOTH, ..GENERIC }),
    ("networking.k8s.io", "ingresses", CORE_BOTH),
    ("networking.k8s.io", "ipaddresses", CORE_BOTH),
    ("networking.k8s.io", "ingressclasses", CORE_BOTH),
    ("networking.k8s.io", "ipaddresses", CORE_BOTH),
    ("node.k8s.io", "runtimeclasses", Checks { update: BOTH, ..GENERIC }),
    (RBAC, "roles", CORE_BOTH),
    (RBAC, "rolebindings", CORE_BOTH),
    (RBAC, "clusterroles", CORE_BOTH),
    (RBAC, "clusterrolebindings", CORE_BOTH),
    ("storage.k8s.io", "volumeattachments", Checks { status: NEW, ..CORE_NEW }),
    ("storage.k8s.io", "csinodes", CORE_NEW),
    ("storage.k8s.io", "csistoragecapacities", CORE_BOTH),
    ("storage.k8s.io", "storageclasses", CORE_BOTH),
    ("storage.k8s.io", "volumeattributesclasses", CORE_BOTH),
    (ADMISSION, "validatingwebhookconfigurations", CONFIGURATION),
    (ADMISSION, "mutatingwebhookconfigurations", CONFIGURATION),
    (ADMISSION, "validatingadmissionpolicies", CONFIGURATION),
    (ADMISSION, "validatingadmissionpolicybindings", CONFIGURATION),
    (ADMISSION, "mutatingadmissionpolicies", CONFIGURATION),
    (ADMISSION, "mutatingadmissionpolicybindings", CONFIGURATION),
    ("apiextensions.k8s.io", "customresourcedefinitions", GENERIC),
    ("apiregistration.k8s.io", "apiservices", Checks { update: BOTH, ..GENERIC }),
    ("resource.k8s.io", "resourceclaims", CORE_BOTH),
    ("resource.k8s.io", "deviceclasses", CORE_BOTH),
    ("resource.k8s.io", "resourceclaimtemplates", CORE_BOTH),
];

/// The checks of a kind.
pub(super) fn of(group: &str, plural: &str) -> Checks {
    TABLE.iter().find(|row| (row.0, row.1) == (group, plural)).map_or(CORE, |row| row.2)
}
