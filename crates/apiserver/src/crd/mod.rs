//! CustomResourceDefinitions: parsing, validation, and how they take effect.

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

pub(crate) use conversion::{Conversion, ConversionCall};
pub(crate) use definition::{Definition, Family, Version};
pub(crate) use formats::warnings as format_warnings;
pub use pace::DefinitionPace;
pub(crate) use pace::Definitions;
