//! What each verb does.

mod create;
mod delete;
mod list;
mod owners;
pub(crate) mod patch;
mod read;
mod surroundings;
mod update;
mod validation;
mod watch;

pub(crate) use patch::{patched, patched_by};
pub(crate) use surroundings::Allocations;
pub(crate) use validation::created as check_created;
