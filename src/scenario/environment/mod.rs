//! The parts of a scenario that describe the cluster and its external services.

pub(super) mod cluster;
pub(super) mod graph_data;
pub(super) mod images;
pub(super) mod metrics;
mod nodes;
pub(super) mod programs;
pub(super) mod update_service;
