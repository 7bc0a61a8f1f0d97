//! The parts of a scenario that describe the cluster and its external services.
//!
//! * `graph_data.rs`: folders of cincinnati-graph-data; `crates/openshift/src/environment/update_graph.rs` uses them
//! * `images.rs`: the results of pulls and of containers
//! * `update_service.rs`: channels, edges, risks and failures of the update service
//! * `programs.rs`: programs of this machine; those of the command line: `src/cli/args/program.rs`

pub(super) mod cluster;
pub(super) mod graph_data;
pub(super) mod images;
pub(super) mod metrics;
mod nodes;
pub(super) mod programs;
pub(super) mod update_service;
