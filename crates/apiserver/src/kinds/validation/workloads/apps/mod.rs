//! Validation of the kinds of the group `apps` (`pkg/apis/apps/validation`).

pub(in crate::kinds::validation) mod daemon_set;
pub(in crate::kinds::validation) mod deployment;
pub(in crate::kinds::validation) mod revision;
pub(in crate::kinds::validation) mod stateful_set;
