//! Faults of API requests and of the programs that send them.
//!
//! `effect.rs` says what a fault does to a request or a watch, `random_faults.rs` describes random faults, `program.rs`
//! those of programs.

mod effect;
mod filter;
mod hits;
mod program;
mod random_faults;

pub use effect::{ErrorFault, FaultEffect, KillMoment, LostAnswer, WatchFault};
pub use filter::{RequestAttributes, RequestFilter, VERBS};
pub use hits::Hits;
pub use program::ProgramFault;
pub use random_faults::{RandomFaultKind, RandomFaults};

/// A fault of the API server's answers to requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFault {
    /// The requests that may be affected.
    pub requests: RequestFilter,
    /// The effect on them.
    pub effect: FaultEffect,
    /// The subset of matching requests; of an effect that ends watches, the subset of their events. All events means
    /// that open watches end at once.
    pub hits: Hits,
    /// The message of an error; empty for the default message.
    pub message: String,
    /// The `Retry-After` of `TooManyRequests`, in seconds.
    pub retry_after: u32,
}
