//! Admission plug-ins that are built into every server.

pub(super) mod limits;
mod namespaces;
pub(super) mod quota;
pub(crate) mod runtime_class;
pub(crate) mod service_account;
