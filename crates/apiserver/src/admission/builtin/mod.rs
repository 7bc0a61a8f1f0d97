//! Admission plug-ins that are built into every server.

pub(crate) mod amounts;
pub(super) mod limits;
pub(super) mod quota;
mod required;
pub(crate) mod service_account;
