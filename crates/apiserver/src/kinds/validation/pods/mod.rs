//! Validation of pods: their containers, volumes, updates, status and warnings.
//!
//! | part | Kubernetes | module |
//! |---|---|---|
//! | a specification | `ValidatePodSpec` | `spec` and what it calls |
//! | a template | `ValidatePodTemplateSpec` | `template` |
//! | a new pod, an update | `ValidatePodCreate`, `ValidatePodUpdate` | `pod`, `update` |
//! | ephemeral containers, a resize | `ValidatePodEphemeralContainersUpdate`, `ValidatePodResize` | `update` |
//! | a status | `ValidatePodStatusUpdate` | `status` |
//! | warnings | `GetWarningsForPod`, `GetWarningsForPodTemplate` | `warnings` |

mod annotations;
mod container;
mod context;
mod names;
mod network;
mod object;
pub(super) mod pod;
pub(super) mod scheduling;
mod security;
mod spec;
pub(super) mod status;
pub(super) mod template;
#[cfg(test)]
mod tests;
mod update;
pub(super) mod volumes;
pub(super) mod warnings;

pub(in crate::kinds) use container::aggregate;
pub(super) use container::overhead;
pub(super) use update::{ephemeral_containers, resize};
