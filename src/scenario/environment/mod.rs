//! The part of a scenario that describes the cluster and what is outside of it.

pub(super) mod cluster;
pub(super) mod graph_data;
pub(super) mod images;
pub(super) mod metrics;
pub(super) mod monitoring;
pub(super) mod update_service;
