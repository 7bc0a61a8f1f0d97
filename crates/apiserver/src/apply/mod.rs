//! Server-side apply, and who owns which fields of an object.
//!
//! [`FieldSet`](set::FieldSet) is a set of fields, [`Shape`] what must be known of a schema, `typed` what can be done
//! with values that have one; [`Managers`] are the entries of `metadata.managedFields`. On top of these stand
//! [`Tracker::update`], which tells after a write whose the changed fields are now, [`Tracker::renewed`], which tells the
//! same of most writes sooner, and [`Tracker::apply`].

mod configuration;
mod conflict;
mod element;
mod managers;
mod prune;
mod renew;
mod scale;
mod set;
mod shape;
mod tracker;
mod typed;
mod versions;

pub(crate) use configuration::configured;
pub(crate) use managers::Managers;
pub(crate) use prune::{KUBECTL, LAST_APPLIED};
pub(crate) use scale::Replicas;
pub(crate) use set::FieldSet;
pub(crate) use tracker::{Applied, Tracker};
pub(crate) use versions::Versions;
