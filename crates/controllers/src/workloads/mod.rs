//! Workload controllers, which create pods from templates, and the disruption controller.

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
