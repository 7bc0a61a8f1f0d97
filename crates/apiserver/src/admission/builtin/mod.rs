//! Admission that every server has built in, besides webhooks and policies.

pub(crate) mod amounts;
pub(super) mod limits;
pub(super) mod quota;
mod required;
pub(crate) mod service_account;
