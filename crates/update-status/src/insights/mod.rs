//! The update status controller: what the objects of a cluster say about its update, as insights of the update status
//! API, kept up to date in a ConfigMap.
//!
//! [`assess`] is pure: objects in, insights out. `state` and `nodes` keep what the controller has seen; an `informer` knows
//! the insights and tells what must be written. [`run`] wires them to a `kube::Client`; it does not know whether the
//! cluster is simulated.

mod alarms;
pub mod assess;
mod cache;
mod controller;
mod election;
mod informer;
mod mirror;
mod nodes;
mod observer;
mod operators;
mod publisher;
mod settle;
mod singleton;
pub mod snapshot;
mod state;
mod uid;
mod update_status;
mod watched;
mod watches;
mod woken;

pub use controller::{ControllerError, Look, Parts, once, run};
pub use election::{Election, LEASE, Terms};
pub use observer::{Note, Observer};
pub use watches::Alerts;
