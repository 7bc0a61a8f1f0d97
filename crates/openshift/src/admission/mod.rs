//! The admission plug-ins of OpenShift's kube-apiserver, for an API server of a simulated cluster, and one for the
//! annotations that inject faults.

mod compatibility;
mod configuration;
mod constraints;
mod faults;

pub use compatibility::CompatibilityRequirements;
pub use configuration::ClusterConfiguration;
pub use constraints::SecurityContextConstraints;
pub use faults::FaultAnnotations;
