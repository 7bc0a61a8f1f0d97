//! A running cluster: time, turns of actors, their requests, and the processes and machines beneath the API.

pub(super) mod agenda;
pub(super) mod crashes;
mod effects;
mod insight_log;
mod joining;
pub(super) mod logs;
mod machines;
pub(super) mod metrics;
mod pending;
mod processes;
mod programs;
mod reboots;
mod requests;
mod simulation;
mod workload_logs;

pub use pending::Pending;
pub(super) use simulation::Simulation;
