//! The engine: runs a cluster in virtual time, performs administrator actions and checks expectations.
//!
//! ```text
//! plan --> run  --> Session --> Simulation --writes--> ClusterConnection --> API server
//!                                  ^                           |
//!                                  +---------changes-----------+
//! ```

mod act;
mod command;
mod error;
mod expectations;
mod faults;
mod faults_in_effect;
mod install;
mod invariants;
mod last_actions;
mod mutants;
pub mod mutation;
mod output;
pub mod restarts;
mod retry;
mod run;
mod runtime;
mod session;
mod start;
mod unannotated;

pub use error::SessionError;
pub use run::{Failure, Outcome, run_in_session, run_plan, run_plan_on};
pub use runtime::Pending;
pub use session::Session;
pub use start::EPOCH;
