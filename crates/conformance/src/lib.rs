//! Conformance of API servers: the format of recorded exchanges with a real kube-apiserver, the comparison of
//! answers, and a fuzzer that sends the same requests to two servers.
//!
//! The crate knows nothing of a certain server: it speaks HTTPS.

pub mod areas;
pub mod compare;
pub mod corpus;
pub mod fuzz;
pub mod oracle;
pub mod player;
mod values;
