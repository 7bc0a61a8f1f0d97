//! Applies a payload: the apply loop, its passes over the task graph, and the action for each task.
//!
//! `pass.rs` runs the tasks in the order of `graph.rs`; `failure.rs` has the texts of what did not complete.

pub(super) mod apply;
pub(super) mod failure;
pub(super) mod graph;
pub(super) mod health;
pub(super) mod inject;
pub(super) mod limit;
pub(super) mod manifest;
pub(super) mod need;
pub(super) mod operators;
pub(super) mod overrides;
pub(super) mod pass;
