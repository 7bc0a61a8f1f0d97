//! Tokens of ServiceAccounts, and requests for them.

pub(super) mod token;
pub(crate) mod token_request;
