//! Finds an object that the newer release accepts, and the older one rejects or changes because of one difference.
//!
//! The generator builds an object from the schemas; servers of both releases judge it. As long as they name other errors,
//! such as those of rules in CEL, the search changes the object at the places of those errors.

mod aim;
mod bench;
mod change;
mod dice;
mod generate;
mod moves;
mod numbers;
mod outcome;
mod random;
mod regular;
mod search;
mod shrink;
mod texts;

pub(crate) use bench::Bench;
pub(crate) use change::search_change;
pub(crate) use random::{answers_of_older, random_objects};
pub(crate) use search::{Found, Miss, search};
