//! The run: virtual time, the actors and their turns, what an administrator does, what must hold.
//!
//! ```text
//! plan --> play --> Session --> Simulation --writes--> door --> API server
//!                                  ^                     |
//!                                  +------changes--------+
//! ```

mod act;
mod command;
mod error;
mod expectations;
mod faults;
mod install;
mod machines;
mod play;
pub mod restarts;
mod retry;
mod runtime;
mod session;
mod start;

pub use error::SessionError;
pub use play::{Failure, Outcome, play, play_in, play_on};
pub use runtime::Pending;
pub use session::Session;
pub use start::EPOCH;
