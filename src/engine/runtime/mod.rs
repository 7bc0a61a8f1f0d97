//! A running cluster: time, turns of actors, their requests, and the processes and machines beneath the API.
//!
//! * `simulation.rs`: [`Simulation`](simulation::Simulation), the cluster; `fork.rs` copies it
//! * `requests.rs`: writes of components, and changes on their way to the view, the record and the actors
//! * `processes.rs`: which containers are simulated programs; `insights.rs` runs the update status controller,
//!   `embedded/` programs in Rust, `programs.rs` answers their requests beside the API
//! * `machines.rs`, `reboots.rs`, `joining.rs`: machines beneath the nodes
//! * `crashes.rs` and `agenda.rs`: faults at writes, at times and at changes
//! * `logs/`: `pods/NAME/log`; `workload_logs.rs` has lines about workloads, `insight_log.rs` those of the update
//!   status controller
//! * `metrics.rs`: answers of pods through `proxy`

mod adopting;
pub(super) mod adoption;
pub(super) mod agenda;
mod api_server_version;
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
mod observers;
mod pending;
mod processes;
mod program_site;
mod programs;
pub(super) mod reads;
mod reboots;
mod requests;
mod simulation;
mod user_programs;
mod workload_logs;

pub(super) use embedded::{Embedded, End};
pub use embedded::{EmbeddedPlace, EmbeddedProgram, ProgramFuture, StartProgram};
pub use pending::Pending;
pub(super) use processes::{
    KILLED, Process, RESTART_DELAY, Running, Task, UPDATE_STATUS_CONTROLLER, account_of,
};
pub(super) use program_site::ProgramSite;
pub(super) use simulation::Simulation;
