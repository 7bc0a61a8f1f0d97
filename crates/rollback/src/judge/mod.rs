//! Judges a witness: stores it under the newer definition, replaces the definition by the older one, and tries what
//! operators and users do then.

mod edits;
mod exchange;
mod trial;

pub use exchange::Exchange;
pub(crate) use trial::{Judge, Outcome, Verdict, replace_definition};
