//! Insight producers besides the controller: their registrations, their deliveries, and what they may say.
//!
//! Pure data and rules. The controller applies the rules to UpdateInsights, and the HTTPS endpoint of
//! `windtunnel insights` applies the same rules before it stores a delivery.

mod admission;
mod delivery;
mod registration;
#[cfg(test)]
mod tests;

pub use admission::{InsightRejection, Outcome, RejectionReason, admit};
pub(crate) use delivery::is_label;
pub use delivery::{Delivery, delivery_of_object};
pub use registration::{About, InformerObject, Producer, Registration};

/// Maximum number of registered informers, by name. The API of UpdateStatus takes 16 informers in each part of the
/// cluster, and the controller has two.
pub const INFORMERS_MAX: usize = 14;

/// Maximum size of the insights of one informer, in bytes of JSON.
pub const INFORMER_ROOM: usize = 32 * 1024;
