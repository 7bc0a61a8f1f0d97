//! Workload controllers, which create pods from templates, and the disruption controller.
//!
//! The status of a kind is in a file of its name, such as `deployments/deployment_status.rs`.

pub mod autoscaling;
mod claims;
pub mod cron_jobs;
pub mod daemon_sets;
pub mod deployments;
pub mod disruption;
mod go_selector;
pub mod jobs;
mod payload_pods;
pub mod replica_sets;
mod revisions;
mod shares;
pub mod stateful_sets;
pub mod ttl_after_finished;
