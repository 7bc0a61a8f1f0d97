//! Mutants: components that are wrong on purpose, one at a time.
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
mod mutant_state;
mod outdated;
mod place;
mod returned;
mod seeded;

pub use mutant::Mutant;
pub(super) use mutant::{FalseAnswer, MutantKind, Request, altered};
pub(super) use mutant_state::{MutantState, Observed, component};
pub(super) use place::Place;
pub use seeded::{SeededMutant, seeded_mutants};
