//! Workload controllers, which create pods from templates, and the disruption controller.

pub mod cron_jobs;
pub mod daemon_sets;
pub mod deployments;
pub mod disruption;
pub mod jobs;
pub mod replica_sets;
mod shares;
