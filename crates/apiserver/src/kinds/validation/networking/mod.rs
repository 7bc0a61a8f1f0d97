//! Validation of Services, EndpointSlices, ingresses and network policies.

pub(super) mod ingress;
pub(super) mod network;
pub(super) mod network_policy;
