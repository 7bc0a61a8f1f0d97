//! The update status controller: what the objects of a cluster say about its update, as insights of the update status
//! API, kept up to date in a ConfigMap.
//!
//! [`assess`] is pure: objects in, insights out. `state` keeps what the controller has seen and tells what must be
//! written, by the rules of `publish`. [`run`] wires it to a `kube::Client`; it does not know whether the
//! cluster is simulated.

pub mod assess;
mod cache;
mod controller;
mod publish;
mod state;
mod uid;

pub use controller::{ControllerError, run};
