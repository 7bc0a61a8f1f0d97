//! CustomResourceDefinitions: what they say, whether it may be said, and how they come into force.

mod definition;
pub(crate) mod internal;
pub(crate) mod lifecycle;
mod naming;
mod rules;
mod structure;
pub(crate) mod validation;

pub(crate) use definition::{Definition, Family, Version};
