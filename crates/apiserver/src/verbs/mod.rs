//! The implementations of the API verbs: get, list, watch, create, update, patch and delete.

mod allocations;
mod create;
mod delete;
mod list;
mod owners;
pub(crate) mod patch;
mod read;
mod update;
mod validation;
mod watch;

pub(crate) use allocations::Allocations;
pub(crate) use patch::{patched, patched_by};
pub(crate) use validation::validate_new;
