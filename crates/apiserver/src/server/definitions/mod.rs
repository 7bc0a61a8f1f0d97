//! How CustomResourceDefinitions take effect: accepted names, served kinds, delays and conversions.

pub(crate) mod conversions;
pub(crate) mod delays;
pub(crate) mod lifecycle;
mod naming;
