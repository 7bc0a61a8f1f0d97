//! What each verb does.

mod create;
mod delete;
mod list;
mod patch;
mod read;
mod update;
mod validation;
mod watch;
