//! Expectations of a scenario.

pub(super) mod command;
pub(super) mod expectation;
pub(super) mod insight;
pub(super) mod invariants;
mod leader;
mod monitoring;
mod requests;
pub(super) mod restored;
mod since;
pub(super) mod status_text;
