//! The update status controller: derives insights of the update status API from a cluster's objects, and
//! publishes them in a ConfigMap and the UpdateStatus.
//!
//! | module | has |
//! |---|---|
//! | `watch` | the watches, as one stream of events, and caches of their objects |
//! | `state` | the observed objects, and which insights are out of date; no IO |
//! | `publishing` | the insights of each informer, and the writes that publish them |
//! | `control_loop` | [`run`], [`run_leading`] and [`run_once`], which connect these to a `kube::Client` |
//! | [`deliveries`] | insights that producers deliver over HTTPS |
//! | `election` | leader election, for several replicas |
//! | [`snapshot`] | the insights of a set of objects, without a running controller |
//!
//! The rules are in [`assessment`](crate::assessment). The controller does not know whether the cluster is
//! simulated.
//!
//! `observer.rs` has the events from which `src/cli/insights/monitor.rs` counts metrics.

mod control_loop;
pub mod deliveries;
mod election;
mod observer;
mod publishing;
pub mod snapshot;
mod state;
mod watch;

pub use control_loop::{ControllerError, OnceResult, Parts, run, run_leading, run_once};
pub use election::{Election, LEASE, Terms};
pub use observer::{Note, Observer};
pub use watch::AlertStream;
