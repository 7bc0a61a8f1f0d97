//! The admission plug-ins of OpenShift's kube-apiserver, for an API server of a simulated cluster.

mod compatibility;
mod configuration;
mod constraints;

pub use compatibility::CompatibilityRequirements;
pub use configuration::ClusterConfiguration;
pub use constraints::SecurityContextConstraints;
