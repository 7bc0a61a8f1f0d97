//! The controllers of workloads: they make pods of templates, and guard how many may be missing.

pub mod daemon_sets;
pub mod deployments;
pub mod disruption;
pub mod jobs;
pub mod owners;
pub mod replica_sets;
mod shares;
