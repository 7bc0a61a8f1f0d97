//! The format of recorded cases: names, edits, pointers. `tests/conformance/replay.py` describes all of it.

pub(crate) mod edit;
mod expected;
mod fill;
pub(crate) mod pointer;

pub use edit::{difference, edit};
pub use expected::expected;
pub use fill::{Env, fill};
pub use pointer::{find, remove, set};
