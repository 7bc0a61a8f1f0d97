//! Mutants: deliberate defects of one component each.
//!
//! A mutant wraps the actors of a component, or the client of the update status controller. It changes, delays,
//! repeats or suppresses one kind of its writes, alerts or news, or the answers to its writes. A scenario that
//! passes with it does not test them.

mod actor;
mod answers;
mod awaited;
mod insights;
mod memory;
mod mutant;
mod outdated;
mod place;
mod returned;
mod seeded;
mod tampering;

pub use mutant::Mutant;
pub(super) use mutant::{Defect, FalseAnswer, Request, altered};
pub(super) use place::Place;
pub use seeded::{SeededDefect, seeded_defects};
pub(super) use tampering::{Observed, Tampering, component};
