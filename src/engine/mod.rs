//! The engine: runs a cluster in virtual time, performs administrator actions and checks expectations.
//!
//! ```text
//! plan --> run  --> Session --> Simulation --writes--> ClusterConnection --> API server
//!                                  ^                           |
//!                                  +---------changes-----------+
//! ```
//!
//! * `run.rs`, `session.rs`, `act.rs`: run a plan, its steps and its actions; `command.rs` runs `oc`, and
//!   `client_warnings.rs` has its warnings;
//!   `last_actions.rs` and `counting.rs` know where actions and steps began
//! * `runtime/`: the running cluster: turns, requests, processes, machines, logs
//! * `observer.rs`: observers follow a run and change nothing in its cluster; `runtime/observers.rs` lists them
//! * `install/` and `start/`: the installed cluster, and snapshots of it
//! * `expectations/` and `invariants/`: what must hold
//! * `faults/` and `faults_in_effect.rs`: faults that begin and end
//! * `programs/` and `embedded.rs`: programs of the user, as processes and in Rust
//! * `cluster_copy.rs` and `progress.rs`: copies of a cluster that other threads run, and the place in the plan at
//!   which they continue
//! * `sweep/` and `pairs/`: a way back from each moment of an update, and between all minors
//! * `restarts/` and `program_checks/`: a crash or another fault at each write (`--check-restarts`,
//!   `--check-staleness`, `--check-gaps`)
//! * `restored/` and `round_trip/`: what an update and a rollback leave (`--check-restored`)
//! * `mutants/` and `mutation/`: deliberately broken components (`windtunnel mutate`, `explore --seeded`)

mod act;
mod client_warnings;
mod cluster_copy;
mod command;
mod counting;
mod embedded;
mod error;
mod expectations;
mod faults;
mod faults_in_effect;
mod final_state;
mod idle_faults;
mod install;
mod invariants;
mod last_actions;
mod mutants;
pub mod mutation;
mod observer;
mod output;
mod paced;
pub mod pairs;
pub mod program_checks;
mod programs;
mod progress;
pub mod restarts;
pub mod restored;
mod retry;
pub mod round_trip;
mod run;
mod runtime;
mod session;
mod start;
mod step_state;
pub mod sweep;
mod unannotated;
pub(crate) mod workers;

pub use cluster_copy::ClusterCopy;
pub use error::SessionError;
pub use expectations::stray_write;
pub use invariants::RecordedInvariant;
pub use mutants::{SeededMutant, seeded_mutants};
pub use run::{Failure, Outcome, run_in_session, run_plan, run_plan_on, run_plan_with_programs, secrets_of};
pub use runtime::{EmbeddedPlace, EmbeddedProgram, Pending, ProgramFuture, StartProgram};
pub use session::Session;
pub use start::{ComponentsBeside, EPOCH, component_names};
