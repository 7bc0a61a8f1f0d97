//! The engine: runs a cluster in virtual time, performs administrator actions and checks expectations.
//!
//! ```text
//! plan --> run  --> Session --> Simulation --writes--> ClusterConnection --> API server
//!                                  ^                           |
//!                                  +---------changes-----------+
//! ```

mod act;
mod cluster_copy;
mod command;
mod embedded;
mod error;
mod expectations;
mod faults;
mod faults_in_effect;
mod final_state;
mod install;
mod invariants;
mod last_actions;
mod mutants;
pub mod mutation;
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
pub mod sweep;
mod unannotated;
pub(crate) mod workers;

pub use cluster_copy::ClusterCopy;
pub use error::SessionError;
pub use expectations::stray_write;
pub use invariants::RecordedInvariant;
pub use mutants::{SeededDefect, seeded_defects};
pub use run::{
    Failure, Outcome, run_after, run_in_session, run_plan, run_plan_on, run_plan_with_programs, secrets_of,
};
pub use runtime::{EmbeddedPlace, EmbeddedProgram, Pending, ProgramFuture, StartProgram};
pub use session::Session;
pub use start::{ComponentsBeside, EPOCH, component_names};
