//! CustomResourceDefinitions: parsing and validation.

mod costs;
mod definition;
mod formats;
pub(crate) mod internal;
mod rules;
mod structure;
pub(crate) mod validation;

pub use costs::{RuleCost, rule_costs};
pub(crate) use definition::Definition;
pub(crate) use formats::warnings as format_warnings;
