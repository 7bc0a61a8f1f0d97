//! The update status controller: derives insights of the update status API from a cluster's objects, and
//! publishes them in a ConfigMap and the UpdateStatus.
//!
//! [`assess`] is pure: objects in, insights out. `state` and `nodes` hold what the controller has observed;
//! an `informer` holds the insights and computes what must be written. [`run`] connects them to a
//! `kube::Client`; it does not know whether the cluster is simulated.

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
