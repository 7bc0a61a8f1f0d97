//! Server-side apply, and the ownership of fields.
//!
//! [`FieldSet`](crate::field_set::FieldSet) is a set of fields, `Shape` the necessary part of a schema, `typed` the
//! operations on values with a shape, and [`Managers`] the entries of `metadata.managedFields`. They are the
//! base of [`Tracker::update`], which computes the owners of fields after a write, [`Tracker::shortcut_update`], a
//! shortcut for most writes, and [`Tracker::apply`].

mod configuration;
mod conflict;
mod keyed;
mod managers;
mod prune;
mod renew;
mod scale;
mod shape;
mod tracker;
mod typed;
mod valid_entries;
mod versions;

pub(crate) use configuration::configured;
pub(crate) use managers::Managers;
pub(crate) use prune::{KUBECTL, LAST_APPLIED};
pub(crate) use scale::Replicas;
pub(crate) use tracker::{Applied, Tracker, failed};
pub(crate) use valid_entries::check_entries;
pub(crate) use versions::Versions;
