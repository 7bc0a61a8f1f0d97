//! Tokens of ServiceAccounts, and requests for them.

pub(super) mod token;
pub(super) mod token_request;
