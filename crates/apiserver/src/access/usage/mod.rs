//! The requests of users, and the part of their rights that they use.

mod counts;
mod report;

pub(super) use counts::Counts;
pub use counts::RequestCount;
pub use report::{RuleUse, UserAccess};
