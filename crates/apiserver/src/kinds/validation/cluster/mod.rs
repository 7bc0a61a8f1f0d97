//! Validation of nodes, namespaces and the configuration of the cluster.

mod api_service;
mod flow_level;
mod flow_schema;
mod namespace;
mod node;
mod runtime_class;
#[cfg(test)]
mod tests;

pub(super) use api_service::{api_service, status as api_service_status};
pub(super) use flow_level::{level, status as level_status};
pub(super) use flow_schema::{schema, status as schema_status};
pub(super) use namespace::namespace;
pub(super) use node::{node, status as node_status};
pub(super) use runtime_class::runtime_class;
