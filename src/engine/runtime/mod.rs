//! A running cluster: time, turns of actors, their requests, and the processes and machines beneath the API.

mod effects;
pub(super) mod metrics;
mod processes;
mod requests;
mod simulation;

pub use simulation::Pending;
pub(super) use simulation::Simulation;
