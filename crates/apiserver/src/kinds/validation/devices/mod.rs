//! Validation of devices, their classes, and the claims for them (`pkg/apis/resource/validation`).

mod attributes;
mod binding;
mod claim;
mod claim_status;
mod class;
mod collections;
mod configuration;
mod counters;
mod device;
mod names;
mod nodes;
mod policy;
mod request;
mod selector;
mod slice;
mod taint;
mod template;
#[cfg(test)]
mod tests;

pub(super) use claim::claim;
pub(super) use claim_status::status;
pub(super) use class::class;
pub(super) use slice::{slice, warn as slice_warnings};
pub(super) use template::template;
