//! The run: virtual time, the actors and their turns, what an administrator does, what must hold.
//!
//! ```text
//! plan --> play --> Session --> Simulation --writes--> door --> API server
//!                                  ^                     |
//!                                  +------changes--------+
//! ```

mod act;
mod agenda;
mod check;
mod check_monitoring;
mod check_nodes;
mod check_status;
mod check_writes;
mod command;
mod crashes;
mod disturb;
mod effects;
mod error;
mod exports;
mod flips;
mod install;
mod installed;
mod invariants;
mod join;
mod kept;
mod machines;
mod matching;
mod obstruct;
mod older;
mod phases;
mod play;
mod processes;
#[cfg(test)]
mod recovery;
mod requests;
pub mod restarts;
mod retry;
mod session;
mod simulation;
mod start;

pub use error::SessionError;
pub use play::{Failure, Outcome, play, play_in, play_on};
pub use session::Session;
pub use simulation::Pending;
pub use start::EPOCH;
