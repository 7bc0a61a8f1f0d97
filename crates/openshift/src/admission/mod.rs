//! The admission plug-ins of OpenShift's kube-apiserver, for an API server of a simulated cluster.

mod configuration;
mod constraints;

pub use configuration::ClusterConfiguration;
pub use constraints::SecurityContextConstraints;
