//! The sync of a payload: the apply loop, one pass of it over the task graph, and what a task does with its object.

pub(super) mod apply;
pub(super) mod graph;
pub(super) mod health;
pub(super) mod inject;
pub(super) mod limit;
pub(super) mod manifest;
pub(super) mod need;
pub(super) mod operators;
pub(super) mod overrides;
pub(super) mod pass;
