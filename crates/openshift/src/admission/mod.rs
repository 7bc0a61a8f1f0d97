//! The admission plug-ins of OpenShift's kube-apiserver, for an API server of a simulated cluster, and one for the
//! annotations that inject faults.
//!
//! `constraints/` checks pods by SecurityContextConstraints, `compatibility.rs` definitions by
//! CompatibilityRequirements, `faults.rs` the annotations of faults.

mod compatibility;
mod configuration;
mod constraints;
mod faults;

pub use compatibility::CompatibilityRequirements;
pub use configuration::ClusterConfiguration;
pub use constraints::SecurityContextConstraints;
pub use faults::FaultAnnotations;
