//! The clients `oc adm upgrade` and `oc get`: their arguments, their output, and their requests to the API
//! server. Pure: no IO, no clock.
//!
//! A [`Command`] is parsed from its arguments. [`Command::begin`] reads the ClusterVersion, and either
//! finishes or returns a [`Patch`] to send, whose response finishes the command. Texts, exit codes and bodies
//! are those of the client at commit 6b8e30c5.
//!
//! ```text
//! words --read--> Command --begin(ClusterVersion)--> done, or Patch
//!                                        Patch --finish(ClusterVersion or error)--> done
//! ```
//!
//! Each subcommand has a file; `tests/it/oc` compares with transcripts of the real client. `src/engine/command.rs` and
//! `src/cli/adm/` run them.

mod accept;
mod arguments;
mod channel;
mod clear;
mod cluster_version;
mod command;
mod conditions;
mod get;
mod outcome;
mod pullspec;
mod recommend;
mod report;
mod request;
mod rollback;
mod semantic_version;

pub use arguments::Gates;
pub use command::{ClusterView, Command};
pub use get::{CustomKind, Get, Reply, find_resource};
pub use outcome::{CommandOutput, CommandStep, Patch};
pub use recommend::Alert;
