//! Requests to an API server: the writes of components, and the faults that can affect requests.
//!
//! `faults/` has faults as data, `admission.rs` the trait of admission plug-ins, `aggregated.rs` that of API servers beside the
//! API server, `write.rs` writes and their answers.

pub mod admission;
pub mod aggregated;
pub mod faults;
mod write;

pub use write::{Answer, DeleteOptions, Identity, Operation, Propagation, Rejection, Write};
