//! The implementations of the API verbs: get, list, watch, create, update, patch and delete.

mod create;
mod delete;
pub(crate) mod etcd;
pub(crate) mod list;
mod owners;
pub(crate) mod patch;
mod prepared;
pub(crate) mod read;
mod update;
mod validation;
mod watch;

pub(crate) use prepared::LARGE;
pub(crate) use update::check_name;
pub(crate) use validation::{Validation, validate_new};
