//! Expectations of a scenario.

pub(super) mod command;
pub(super) mod expectation;
pub(super) mod insight;
pub(super) mod invariants;
mod monitoring;
pub(super) mod status_text;
