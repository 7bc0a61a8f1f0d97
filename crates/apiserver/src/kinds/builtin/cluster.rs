//! Built-in kinds for network, storage, nodes, scheduling, coordination, flow control and resources of the
//! cluster.

use super::{
    CONDITIONAL, COUNTED, COUNTED_EXACTLY, Generation, PLAIN, Resource, Row, Rules, SPEC_AND_SEPARATE_STATUS,
    SPEC_AND_STATUS, STATUS, StatusMetadata, UPSERT, rows,
};
use crate::names::NameRule;

const LEASE: Rules = Rules { unconditional_update: false, ..UPSERT };
const RUNTIME_CLASS: Rules = Rules { unconditional_update: false, ..UPSERT };
const ATTACHMENT: Rules = Rules { unconditional_update: false, ..SEPARATE_STATUS };
/// A status write cannot change metadata.
const SEPARATE_STATUS: Rules = Rules { status_metadata: StatusMetadata::Ignored, ..STATUS };
const SLICE: Rules = Rules { generation: Generation::SpecificationAndLabels, ..COUNTED };
const PRIORITY: Rules = Rules { generation: Generation::Constant, ..PLAIN };
const DRIVER: Rules = Rules { generation: Generation::SpecificationFromZero, ..CONDITIONAL };
const ADDRESS: Rules = Rules { names: NameRule::Address, ..PLAIN };
const DEVICE_CLASS: Rules = Rules { names: NameRule::GeneratedSubdomain, ..COUNTED };
const FLOW: &str = "flowcontrol.apiserver.k8s.io";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = rows! {
    namespaced "coordination.k8s.io", "v1", "Lease", "leases", LEASE, [];
    namespaced "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", SLICE, [];
    namespaced "discovery.k8s.io", "v1beta1", "EndpointSlice", "endpointslices", SLICE, [], 0..=24;
    namespaced "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", COUNTED_EXACTLY, ["netpol"];
    namespaced "networking.k8s.io", "v1", "Ingress", "ingresses", SPEC_AND_STATUS, ["ing"];
    cluster    "networking.k8s.io", "v1", "IngressClass", "ingressclasses", COUNTED, [];
    cluster    "networking.k8s.io", "v1", "IPAddress", "ipaddresses", ADDRESS, ["ip"], 33..=u32::MAX;
    cluster    "networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", SEPARATE_STATUS, [], 33..=u32::MAX;
    cluster    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", PRIORITY, ["pc"];
    cluster    "storage.k8s.io", "v1", "CSIDriver", "csidrivers", DRIVER, [];
    cluster    "storage.k8s.io", "v1", "CSINode", "csinodes", CONDITIONAL, [];
    namespaced "storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", CONDITIONAL, [], 24..=u32::MAX;
    namespaced "storage.k8s.io", "v1beta1", "CSIStorageCapacity", "csistoragecapacities", CONDITIONAL, [], 0..=26;
    cluster    "storage.k8s.io", "v1", "StorageClass", "storageclasses", PLAIN, ["sc"];
    cluster    "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", ATTACHMENT, [];
    cluster    "storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", PLAIN, ["vac"], 34..=u32::MAX;
    cluster    "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", RUNTIME_CLASS, [];
    cluster    "node.k8s.io", "v1beta1", "RuntimeClass", "runtimeclasses", RUNTIME_CLASS, [], 0..=24;
    cluster    FLOW, "v1", "FlowSchema", "flowschemas", SPEC_AND_SEPARATE_STATUS, [], 29..=u32::MAX;
    cluster    FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", SPEC_AND_SEPARATE_STATUS, [], 29..=u32::MAX;
    cluster    FLOW, "v1beta3", "FlowSchema", "flowschemas", SPEC_AND_SEPARATE_STATUS, [], 26..=31;
    cluster    FLOW, "v1beta3", "PriorityLevelConfiguration", "prioritylevelconfigurations", SPEC_AND_SEPARATE_STATUS, [], 26..=31;
    cluster    FLOW, "v1beta2", "FlowSchema", "flowschemas", SPEC_AND_SEPARATE_STATUS, [], 0..=28;
    cluster    FLOW, "v1beta2", "PriorityLevelConfiguration", "prioritylevelconfigurations", SPEC_AND_SEPARATE_STATUS, [], 0..=28;
    cluster    "resource.k8s.io", "v1", "DeviceClass", "deviceclasses", DEVICE_CLASS, [], 34..=u32::MAX;
    namespaced "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", SEPARATE_STATUS, [], 34..=u32::MAX;
    namespaced "resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", PLAIN, [], 34..=u32::MAX;
    cluster    "resource.k8s.io", "v1", "ResourceSlice", "resourceslices", COUNTED, [], 34..=u32::MAX;
};
