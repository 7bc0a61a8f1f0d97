//! Requests to an API server: the writes that components make, and faults that requests can meet.

pub mod admission;
pub mod faults;
mod write;

pub use write::{Answer, DeleteOptions, Identity, Operation, Propagation, Refusal, Write};
