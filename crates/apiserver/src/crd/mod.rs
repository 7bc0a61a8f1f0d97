//! CustomResourceDefinitions: what they say, whether it may be said, and how they come into force.

mod conversion;
mod definition;
mod formats;
pub(crate) mod internal;
pub(crate) mod lifecycle;
mod naming;
mod pace;
mod rules;
mod structure;
pub(crate) mod validation;

pub(crate) use conversion::{Conversion, Wanted};
pub(crate) use definition::{Definition, Family, Version};
pub(crate) use formats::warnings as format_warnings;
pub use pace::DefinitionPace;
