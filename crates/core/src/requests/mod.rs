//! Requests to an API server: the writes of components, and the faults that can affect requests.

pub mod admission;
pub mod faults;
mod write;

pub use write::{Answer, DeleteOptions, Identity, Operation, Propagation, Refusal, Write};
