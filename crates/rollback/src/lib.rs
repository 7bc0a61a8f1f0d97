//! Which objects of a newer release does an older one reject or change? Compares the CustomResourceDefinitions of two
//! releases, and proves each difference by an object: an API server of the newer release accepts it, and one of the older
//! release rejects or changes it.
//!
//! The stages, from top to bottom: [`release`] has the two releases, `diff` lists differences, `witness` finds an object
//! for each, `trial` makes the requests after a rollback, [`trap`] ranks the result, and [`check`] combines them. `schema`
//! and `servers` are the schemas and the servers that they use. Nothing here does IO; callers may check definitions on
//! several threads.
//!
//! A difference that no object shows is listed as unproved, or as reworded if the newer release has another restriction
//! there and enough values were tried. Random objects of the newer release look for what the comparison misses: such an
//! `unexplained` find is a bug of the comparison. Reports are in `report.rs` and `output/`, harm and writers in
//! `trap/`.

pub mod check;
mod diff;
pub mod output;
pub mod release;
mod report;
mod schema;
mod servers;
pub mod trap;
mod trial;
mod witness;

pub use report::{Direction, Report};
pub use trial::Exchange;
