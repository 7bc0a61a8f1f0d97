//! Requests that the server sends itself: to admission and conversion webhooks, and to the programs behind pods.

pub(crate) mod client_config;
pub(crate) mod endpoint;
pub(crate) mod hooks;
pub(crate) mod upstream;
