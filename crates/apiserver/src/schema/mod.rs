//! Structural schemas of custom resources: pruning, defaulting and validation.

pub(crate) mod default;
pub(crate) mod embedded;
pub(crate) mod error_order;
pub(crate) mod format;
pub(crate) mod list_type;
pub(crate) mod path;
pub(crate) mod prune;
pub(crate) mod ratchet;
pub(crate) mod rules;
pub(crate) mod structural;
pub(crate) mod validate;

pub(crate) use structural::Structural;
