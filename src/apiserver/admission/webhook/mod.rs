//! Admission webhooks.

pub(crate) mod client;
