//! The fields of a ClusterOperator.

use serde_json::Value;

use super::object::list_at;
use crate::text_of;

/// The version that a ClusterOperator reports for an operand (`status.versions`), such as `operator`. `None` if it
/// reports none.
pub fn version_of<'a>(cluster_operator: &'a Value, operand: &str) -> Option<&'a str> {
    let mut versions = list_at(cluster_operator, "/status/versions").iter();
    versions.find(|entry| text_of(entry, "name") == operand)?["version"].as_str()
}
