//! The update status controller: derives insights of the update status API from a cluster's objects, and
//! publishes them in a ConfigMap and the UpdateStatus.
//!
//! [`assess`] is pure: objects in, insights out. `state` and `nodes` hold what the controller has observed;
//! an `informer` holds the insights and computes what must be written. [`run`] connects them to a
//! `kube::Client`; it does not know whether the cluster is simulated.

mod control_loop;
mod election;
mod observer;
mod publishing;
pub mod snapshot;
mod state;
mod watch;

pub use control_loop::{ControllerError, OnceResult, Parts, run, run_once};
pub use election::{Election, LEASE, Terms};
pub use observer::{Note, Observer};
pub use watch::AlertStream;
