//! The trial of a witness: stores it under the newer definition, replaces the definition by the older one, and tries what
//! operators and users do then.

mod edits;
mod exchange;
mod requests;

pub use exchange::Exchange;
pub(crate) use requests::{Outcome, Trial, Verdict, replace_definition};
