//! A running cluster: time, turns of actors, their requests, and the processes and machines beneath the API.

mod adopting;
pub(super) mod adoption;
pub(super) mod agenda;
pub(super) mod crashes;
mod effects;
mod embedded;
mod fork;
mod insight_log;
mod insights;
mod joining;
pub(super) mod logs;
mod machines;
pub(super) mod metrics;
mod observer;
mod pending;
mod processes;
mod program_site;
mod programs;
pub(super) mod reads;
mod reboots;
mod requests;
mod simulation;
mod workload_logs;

pub(super) use embedded::{Embedded, End};
pub use embedded::{EmbeddedPlace, EmbeddedProgram, ProgramFuture, StartProgram};
pub(super) use observer::Observer;
pub use pending::Pending;
pub(super) use processes::{
    KILLED, Process, RESTART_DELAY, Running, Task, UPDATE_STATUS_CONTROLLER, account_of,
};
pub(super) use program_site::ProgramSite;
pub(super) use simulation::Simulation;
