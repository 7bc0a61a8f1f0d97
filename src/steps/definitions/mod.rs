//! The Gherkin steps, a file for each topic.

pub(super) mod aliases;
pub(super) mod changes;
pub(super) mod commands;
pub(super) mod faults;
pub(super) mod given;
pub(super) mod history_steps;
pub(super) mod insights;
pub(super) mod projects;
pub(super) mod registry_faults;
pub(super) mod test_data;
pub(super) mod then;
pub(super) mod update_service;
pub(super) mod watch_faults;
pub(super) mod when;
