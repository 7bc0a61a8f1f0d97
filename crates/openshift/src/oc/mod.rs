//! The clients `oc adm upgrade` and `oc get`: what an administrator asks for, what the client says to it, and what it then asks the
//! API server for. Pure: no IO, no clock.
//!
//! A [`Command`] is read from its words. [`Command::begin`] looks at the ClusterVersion and either is done or has a
//! [`Patch`] to send, whose answer ends it. Texts, exit codes and bodies are those of the client at commit 6b8e30c5.
//!
//! ```text
//! words --read--> Command --begin(ClusterVersion)--> done, or Patch --answered(ClusterVersion or refusal)--> done
//! ```

mod accept;
mod arguments;
mod channel;
mod clear;
mod cluster_version;
mod command;
mod conditions;
mod get;
mod pullspec;
mod recommend;
mod report;
mod request;
mod rollback;
mod said;
mod semantic_version;

pub use command::{Command, Gates, Patch, Sight, Turn};
pub use get::{Get, resource};
pub use recommend::Alert;
pub use said::Said;
